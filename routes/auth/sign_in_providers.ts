import { z } from "zod";
import {
  createProvider,
  deleteProvider,
  NewProvider,
  ProviderChange,
  setProviderEnabled,
  updateProvider,
} from "../../domain/access/sign_in/providers/change.ts";
import {
  addDomain,
  listDomains,
  removeDomain,
  SignInDomain,
  verifyDomain,
} from "../../domain/access/sign_in/providers/domains.ts";
import { startTest } from "../../domain/access/sign_in/providers/flow.ts";
import {
  listProviders,
  type ProviderRow,
  readProvider,
  readSignInOptions,
  shownProvider,
  SignInOptions,
  SignInProvider,
} from "../../domain/access/sign_in/providers/provider.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { afterStepUp, anyone, forSetup, inTenant } from "../../domain/rights/checks.ts";
import { domainOfMail, mailAddress, uuid } from "../../domain/shared/shapes.ts";
import { createdIn, createdVersioned, noContentAfter, ok, okTagged, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import {
  createSetupLink,
  listSetupLinks,
  NewSetupLink,
  revokeSetupLink,
  SetupLink,
} from "../../domain/access/sign_in/providers/setup_links.ts";
import {
  readSignInSettings,
  SignInSettings,
  SignInSettingsChange,
  updateSignInSettings,
} from "../../domain/access/sign_in/settings.ts";

const endpoint = endpointsIn("Sign-in providers");

const PROVIDERS = "/api/v1/sign-in-providers";
const DOMAINS = "/api/v1/sign-in-domains";
const access = forSetup(inTenant("manage:sign-in"));
const afterProof = afterStepUp(access);
const params = z.object({ id: uuid });
const provider = { etag: true, description: "The provider", schema: SignInProvider } as const;
const given = [
  "ROLE_NOT_FOUND",
  "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  "STEP_UP_REQUIRED_FORBIDDEN",
  "SIGN_IN_SECRETS_UNAVAILABLE",
] as const;
const known = ["SIGN_IN_PROVIDER_NOT_FOUND", "PRECONDITION_FAILED"] as const;

const answerOf = (platform: ServicePlatform, row: ProviderRow) =>
  okVersioned(shownProvider(platform, row), row.version);

/** A tenant's own providers of sign-in and the domains whose users they sign in. */
export const signInProviderRoutes = [
  endpoint(`GET ${PROVIDERS}`, {
    id: "listSignInProviders",
    access,
    summary: "List the tenant's own identity providers",
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of providers", schema: pagedResultOf(SignInProvider) } },
    run: async ({ platform, db, caller, query }) =>
      ok(await listProviders(platform, db, caller.tenantId, query)),
  }),
  endpoint(`GET ${PROVIDERS}/{id}`, {
    id: "readSignInProvider",
    access,
    params,
    summary: "Read an identity provider of the tenant",
    answers: { 200: provider },
    problems: ["SIGN_IN_PROVIDER_NOT_FOUND"],
    run: async ({ platform, db, caller, params: { id } }) =>
      answerOf(platform, await readProvider(db, caller.tenantId, id)),
  }),
  endpoint(`POST ${PROVIDERS}`, {
    id: "createSignInProvider",
    access: afterProof,
    summary: "Create an identity provider of the tenant, which is not enabled",
    details:
      "A tenant has at most five. The caller must be allowed to assign `roleId` and, with a claim for groups, all roles " +
      "that are groups of the tenant's directory.",
    body: NewProvider,
    creates: "atomically",
    answers: { 201: { ...provider, description: "Created; Location is the URL of its record" } },
    problems: ["SIGN_IN_PROVIDER_PLATFORM_CONFLICT", "SIGN_IN_PROVIDERS_LIMIT_CONFLICT", ...given],
    async run({ platform, caller, body }) {
      const row = await createProvider(platform, caller, body);
      return createdVersioned(shownProvider(platform, row), `${PROVIDERS}/${row.id}`, row.version);
    },
  }),
  endpoint(`PUT ${PROVIDERS}/{id}`, {
    id: "updateSignInProvider",
    access: afterProof,
    params,
    summary:
      "Change an identity provider; a change of its connection ends the sessions that were opened by it",
    details: "Another issuer or entityId also ends the links between its accounts and users. " +
      "Another issuer does not get the stored clientSecret: it is deleted unless it is sent again.",
    body: ProviderChange,
    answers: { 200: provider },
    problems: [...known, ...given],
    run: async ({ platform, caller, params: { id }, body, call }) =>
      answerOf(platform, await updateProvider(platform, caller, id, body, call.ifMatch)),
  }),
  endpoint(`POST ${PROVIDERS}/{id}/enable`, {
    id: "enableSignInProvider",
    access: afterProof,
    params,
    summary: "Let users sign in by an identity provider",
    answers: { 200: provider },
    problems: [...known],
    run: async ({ platform, caller, params: { id }, call }) =>
      answerOf(platform, await setProviderEnabled(platform, caller, id, true, call.ifMatch)),
  }),
  endpoint(`POST ${PROVIDERS}/{id}/disable`, {
    id: "disableSignInProvider",
    access,
    params,
    summary: "Let nobody sign in by an identity provider, and end the sessions that were opened by it",
    answers: { 200: provider },
    problems: [...known],
    run: async ({ platform, caller, params: { id }, call }) =>
      answerOf(platform, await setProviderEnabled(platform, caller, id, false, call.ifMatch)),
  }),
  endpoint(`POST ${PROVIDERS}/{id}/test`, {
    id: "testSignInProvider",
    access,
    params,
    summary:
      "Start a test of an identity provider, which may be disabled; it signs nobody in and changes nothing",
    details:
      "The browser ends on a page that shows what the provider said and which user and roles a sign-in would " +
      "give, or why it would be refused.",
    creates: "a secret",
    answers: {
      200: {
        description: "The URL to open in a browser, once and within ten minutes",
        schema: z.object({ url: z.string() }).meta({ id: "SignInTestDto" }),
      },
    },
    problems: ["SIGN_IN_PROVIDER_NOT_FOUND"],
    run: async ({ platform, caller, params: { id } }) => ok({ url: await startTest(platform, caller, id) }),
  }),
  endpoint(`DELETE ${PROVIDERS}/{id}`, {
    id: "deleteSignInProvider",
    access,
    params,
    summary: "Delete an identity provider, and end the sessions that were opened by it",
    answers: { 204: { description: "Deleted" } },
    problems: [...known],
    run: ({ platform, caller, params: { id }, call }) =>
      noContentAfter(deleteProvider(platform, caller, id, call.ifMatch)),
  }),
  endpoint(`GET ${DOMAINS}`, {
    id: "listSignInDomains",
    access,
    summary: "List the email domains whose users the tenant's identity providers sign in",
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of domains", schema: pagedResultOf(SignInDomain) } },
    run: async ({ db, caller, query }) => ok(await listDomains(db, caller.tenantId, query)),
  }),
  endpoint(`POST ${DOMAINS}`, {
    id: "addSignInDomain",
    access,
    summary: "Add an email domain, which a TXT record then proves",
    body: z.object({ name: domainOfMail }).meta({ id: "AddSignInDomainRequest" }),
    creates: "atomically",
    answers: { 201: { description: "The pending domain", schema: SignInDomain } },
    problems: ["SIGN_IN_DOMAIN_ALREADY_EXISTS", "SIGN_IN_DOMAINS_LIMIT_CONFLICT"],
    run: ({ platform, caller, body }) => createdIn(DOMAINS, addDomain(platform, caller, body.name)),
  }),
  endpoint(`POST ${DOMAINS}/{id}/verify`, {
    id: "verifySignInDomain",
    service: "waits for others",
    access,
    params,
    summary: "Search the TXT record of an email domain now",
    details: "Verified domains are checked daily; the third check without the record fails one. " +
      "A tenant may start 30 proofs an hour, those of sender addresses included.",
    answers: { 200: { description: "The domain", schema: SignInDomain } },
    problems: ["SIGN_IN_DOMAIN_NOT_FOUND", "RATE_LIMITED"],
    run: async ({ platform, caller, params: { id } }) => ok(await verifyDomain(platform, caller, id)),
  }),
  endpoint(`DELETE ${DOMAINS}/{id}`, {
    id: "removeSignInDomain",
    access,
    params,
    summary: "Remove an email domain; users whom a provider has already signed in stay",
    answers: { 204: { description: "Removed" } },
    problems: ["SIGN_IN_DOMAIN_NOT_FOUND"],
    run: ({ db, caller, params: { id } }) => noContentAfter(removeDomain(db, caller, id)),
  }),
] as const;

const LINKS = "/api/v1/sign-in-setup-links";
const bySession = inTenant("manage:sign-in");

/** How people can sign in, and links by which a stranger to the service sets that up. */
export const signInSetupRoutes = [
  endpoint("GET /api/v1/auth/sign-in-options", {
    id: "readSignInOptions",
    access: anyone,
    summary: "Read how people of a tenant, or with an email, can sign in",
    details: "Of the email only the domain counts, so the answer never tells whether a user exists.",
    query: z.object({ email: mailAddress.optional(), tenantId: uuid.optional() }),
    answers: { 200: { description: "The enabled identity providers", schema: SignInOptions } },
    run: async ({ platform, query: { email = null, tenantId = null } }) =>
      ok(await readSignInOptions(platform, { email, tenantId })),
  }),
  endpoint(`GET ${LINKS}`, {
    id: "listSignInSetupLinks",
    access: bySession,
    summary: "List the set-up links that can be used",
    query: z.object(pageQuery()),
    answers: {
      200: { description: "A page of links, without their tokens", schema: pagedResultOf(SetupLink) },
    },
    run: async ({ db, caller, query }) => ok(await listSetupLinks(db, caller.tenantId, query)),
  }),
  endpoint(`POST ${LINKS}`, {
    id: "createSignInSetupLink",
    access: afterStepUp(bySession),
    summary:
      "Create a link by which a company's own administrator sets up the sign-in of the tenant, for a day",
    details:
      "Its token is a bearer credential of the routes for identity providers and email domains of this tenant, and of " +
      "no others, as long as its creator holds `manage:sign-in`. It gives no roles.",
    creates: "a secret",
    answers: { 201: { description: "The link; only this answer shows it", schema: NewSetupLink } },
    run: ({ platform, caller }) => createdIn(LINKS, createSetupLink(platform, caller)),
  }),
  endpoint(`DELETE ${LINKS}/{id}`, {
    id: "revokeSignInSetupLink",
    access: bySession,
    params: z.object({ id: uuid }),
    summary: "Revoke a set-up link; effective at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["SIGN_IN_SETUP_LINK_NOT_FOUND"],
    run: ({ db, caller, params: { id } }) => noContentAfter(revokeSetupLink(db, caller, id)),
  }),
] as const;

const path = "/api/v1/sign-in-settings";
const answers = { 200: { etag: true, description: "The settings", schema: SignInSettings } } as const;

/** How users sign in to the tenant: by password too, or only by its own providers. */
export const signInSettingsRoutes = [
  endpoint(`GET ${path}`, {
    id: "readSignInSettings",
    access: bySession,
    summary: "Read how users sign in to the tenant",
    answers,
    run: async ({ db, caller }) => okTagged(await readSignInSettings(db, caller.tenantId)),
  }),
  endpoint(`PUT ${path}`, {
    id: "updateSignInSettings",
    access: bySession,
    summary: "Switch sign-in by password on or off, and choose the break-glass users",
    details:
      "It counts for the next request of every session: a session that was not opened by one of the tenant's providers " +
      "gives no access to the tenant while `passwordSignIn` is false. Switching it off needs an enabled provider that has " +
      "signed a user in, and a break-glass user with a password who holds `manage:sign-in`.",
    body: SignInSettingsChange,
    answers,
    problems: ["PASSWORD_SIGN_IN_NEEDED_CONFLICT", "PRECONDITION_FAILED", "STEP_UP_REQUIRED_FORBIDDEN"],
    run: async ({ platform, caller, body, call }) =>
      okTagged(await updateSignInSettings(platform, caller, body, call.ifMatch)),
  }),
] as const;
