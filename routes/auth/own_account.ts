import { z } from "zod";
import {
  confirmEmailChange,
  readEmailChangeTenant,
  requestEmailChange,
} from "../../domain/access/account/email_change.ts";
import { changePassword } from "../../domain/access/account/password_changes.ts";
import {
  findOwnTenants,
  OwnTenant,
  Profile,
  ProfileChange,
  readProfile,
  updateOwnProfile,
} from "../../domain/access/account/profile.ts";
import { endOwnSession, listOwnSessions, OwnSession } from "../../domain/access/sign_in/open_sessions.ts";
import { actsAsOther, type Caller } from "../../domain/rights/caller.ts";
import {
  afterStepUp,
  anyone,
  byPerson,
  forActing,
  forBound,
  forSelf,
  signedIn,
} from "../../domain/rights/checks.ts";
import { mailAddress, uuid } from "../../domain/shared/shapes.ts";
import { HostedLooksDto, readHostedLooks } from "../looks/hosted_page.ts";
import { acceptedAfter, noContentAfter, ok, okVersioned, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery, queryIds, queryInteger } from "../shared/validation.ts";
import { confirmationPage, mailedToken as token } from "./mailed_page.ts";

const endpoint = endpointsIn("Sign-in", "/auth");

const MAX_TENANTS = 1_000;
const MAX_FOUND = 50;

/** The one tenant about which a route that reads of all tenants answers; null: all. */
const onlyTenantOf = (caller: Caller): string | null =>
  actsAsOther(caller) ? caller.tenantId : caller.boundTo;

/** The signed-in user's own profile, password and sessions. */
export const ownAccountRoutes = [
  endpoint("GET /api/v1/auth/me", {
    id: "readMe",
    service: "point read",
    summary: "Read the caller's profile, roles and permissions",
    access: forActing(forSelf(byPerson(signedIn))),
    query: z.object({
      maxTenants: queryInteger(0, MAX_TENANTS).optional().describe(
        "The maximum number of `tenants`; absent: all. GET /api/v1/auth/tenants finds the others",
      ),
    }),
    answers: { 200: { etag: true, description: "The caller", schema: Profile } },
    async run({ db, caller, query: { maxTenants } }) {
      const { userId, tenantId } = caller;
      const own = await readProfile(db, userId, tenantId, onlyTenantOf(caller), maxTenants);
      // Who works in a tenant without a link to it has no roles there.
      const isVisit = caller.actedBy?.userId === caller.userId;
      if (isVisit) return okVersioned({ ...own.value, permissions: [...caller.permissions] }, own.version);
      return versionedAnswer(own);
    },
  }),
  endpoint("GET /api/v1/auth/tenants", {
    id: "findOwnTenants",
    summary: "Find tenants that the caller can switch to, by name or ids",
    access: forActing(byPerson(signedIn)),
    query: z.object({
      ...pageQuery(),
      search: z.string().max(200).optional(),
      ids: queryIds(MAX_FOUND).optional(),
    }),
    answers: {
      200: { description: "A page of tenants, the default one first", schema: pagedResultOf(OwnTenant) },
    },
    run: async ({ db, caller, query }) =>
      ok(await findOwnTenants(db, caller.userId, onlyTenantOf(caller), query)),
  }),
  endpoint("PUT /api/v1/auth/me", {
    id: "updateMe",
    summary: "Change the caller's names and phone number",
    access: forBound(forSelf(byPerson(signedIn))),
    body: ProfileChange,
    answers: { 200: { etag: true, description: "The caller", schema: Profile } },
    problems: ["PRECONDITION_FAILED"],
    run: async ({ platform, caller, body, call }) =>
      versionedAnswer(await updateOwnProfile(platform, caller, body, call.ifMatch)),
  }),
  endpoint("POST /api/v1/auth/change-password", {
    id: "changePassword",
    service: "waits for others",
    summary: "Change the caller's password and end their other sessions",
    access: byPerson(signedIn),
    body: z.object({
      currentPassword: z.string().min(1).max(1024),
      newPassword: z.string().max(1024),
    }).meta({ id: "ChangePasswordRequest" }),
    answers: { 204: { description: "The password is changed" } },
    problems: ["ACCOUNT_LOCKED_UNAUTHORIZED"],
    run: ({ platform, caller, body }) => noContentAfter(changePassword(platform, caller, body)),
  }),
  endpoint("GET /api/v1/auth/sessions", {
    id: "listOwnSessions",
    summary: "List the caller's open sessions, newest first",
    access: forBound(forSelf(byPerson(signedIn))),
    answers: { 200: { description: "At most 100 sessions", schema: z.array(OwnSession) } },
    run: async ({ db, caller }) => ok(await listOwnSessions(db, caller)),
  }),
  endpoint("DELETE /api/v1/auth/sessions/{id}", {
    id: "endOwnSession",
    summary: "End one of the caller's sessions",
    access: forBound(forSelf(byPerson(signedIn))),
    params: z.object({ id: uuid }),
    answers: { 204: { description: "The session has ended" } },
    problems: ["SESSION_NOT_FOUND"],
    run: ({ platform, caller, params }) => noContentAfter(endOwnSession(platform, caller, params.id)),
  }),
] as const;

/** Change of the caller's email, confirmed with a mailed link. */
export const emailChangeRoutes = [
  endpoint("POST /api/v1/auth/change-email", {
    id: "changeEmail",
    summary: "Request a link to a new email; the answer is the same if the email is taken",
    details:
      "The current email is told at the request and at the change. The link works once and for 30 minutes. If the new " +
      "email belongs to another account, its owner is told instead.",
    access: afterStepUp(byPerson(signedIn)),
    body: z.object({
      newEmail: mailAddress,
      password: z.string().min(1).max(1024),
    }).meta({ id: "ChangeEmailRequest" }),
    answers: { 202: { description: "A link is sent if the email is free" } },
    problems: ["ACCOUNT_LOCKED_UNAUTHORIZED"],
    run: ({ platform, caller, body }) => acceptedAfter(requestEmailChange(platform, caller, body)),
  }),
  endpoint("POST /api/v1/auth/confirm-email", {
    id: "confirmEmail",
    summary: "Change the email with the token of a link; ends the user's sessions except the one that asked",
    access: anyone,
    body: z.object({ token }).meta({ id: "ConfirmEmailRequest" }),
    answers: { 204: { description: "The email is changed" } },
    problems: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
    run: ({ platform, body, call }) =>
      noContentAfter(confirmEmailChange(platform, { ...body, traceId: call.traceId, ip: call.ip })),
  }),
  endpoint("POST /api/v1/auth/confirm-email/looks", {
    id: "readConfirmEmailLooks",
    summary: "Read how the page of a link to a new email looks: like the tenant that its user signs in to",
    access: anyone,
    body: z.object({ token }).meta({ id: "ReadConfirmEmailLooksRequest" }),
    answers: { 200: { description: "The looks", schema: HostedLooksDto } },
    problems: ["EMAIL_TOKEN_INVALID"],
    run: async ({ platform, body }) =>
      ok(await readHostedLooks(platform, await readEmailChangeTenant(platform.sql, body.token))),
  }),
  endpoint("GET /auth/confirm-email", {
    id: "showConfirmPage",
    summary: "The page of a link to a new email",
    access: anyone,
    answers: { 200: { description: "A button that confirms the email", contentType: "text/html" } },
    run: ({ platform, call }) => confirmPage(platform, call.request),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Confirm your new email",
    incomplete: "This link is incomplete. Request a new one.",
    explanation: "From now on, you sign in with the new email. Your other sessions end.",
    confirm: "Confirm the email",
    done: "Done. Sign in with the new email from now on.",
  },
  pt: {
    title: "Confirme seu novo e-mail",
    incomplete: "Este link está incompleto. Peça um novo.",
    explanation: "A partir de agora, entra com o novo e-mail. Suas outras sessões terminam.",
    confirm: "Confirmar o e-mail",
    done: "Pronto. A partir de agora, entre com o novo e-mail.",
  },
};

const confirmPage = confirmationPage({
  texts: TEXTS,
  explained: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
  action: "confirm-email",
  looksFrom: "confirm-email/looks",
});
