import { z } from "zod";
import { readSignInOptions, SignInOptions } from "../../domain/access/sign_in/providers/options.ts";
import {
  createSetupLink,
  listSetupLinks,
  NewSetupLink,
  revokeSetupLink,
  SetupLink,
} from "../../domain/access/sign_in/providers/setup_links.ts";
import { afterStepUp, anyone, inTenant } from "../../domain/rights/checks.ts";
import { mailAddress, uuid } from "../../domain/shared/shapes.ts";
import { created, noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";

const endpoint = endpointsIn("Sign-in providers");

const LINKS = "/api/v1/sign-in-setup-links";
const access = inTenant("manage:sign-in");

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
    access,
    summary: "List the set-up links that can be used",
    query: z.object(pageQuery()),
    answers: {
      200: { description: "A page of links, without their tokens", schema: pagedResultOf(SetupLink) },
    },
    run: async ({ db, caller, query }) => ok(await listSetupLinks(db, caller.tenantId, query)),
  }),
  endpoint(`POST ${LINKS}`, {
    id: "createSignInSetupLink",
    access: afterStepUp(access),
    summary:
      "Create a link by which a company's own administrator sets up the sign-in of the tenant, for a day",
    details:
      "Its token is a bearer credential of the routes for identity providers and email domains of this tenant, and of " +
      "no others, as long as its creator holds `manage:sign-in`. It gives no roles.",
    creates: "a secret",
    answers: { 201: { description: "The link; only this answer shows it", schema: NewSetupLink } },
    async run({ platform, caller }) {
      const link = await createSetupLink(platform, caller);
      return created(link, `${LINKS}/${link.id}`);
    },
  }),
  endpoint(`DELETE ${LINKS}/{id}`, {
    id: "revokeSignInSetupLink",
    access,
    params: z.object({ id: uuid }),
    summary: "Revoke a set-up link; effective at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["SIGN_IN_SETUP_LINK_NOT_FOUND"],
    run: ({ db, caller, params: { id } }) => noContentAfter(revokeSetupLink(db, caller, id)),
  }),
] as const;
