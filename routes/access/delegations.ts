import { z } from "zod";
import {
  actAs,
  decideDelegation,
  Delegation,
  endDelegation,
  listDelegations,
  listOwnDelegations,
  NewDelegation,
  openDelegation,
  OpenedDelegation,
  workInTenant,
} from "../../domain/access/delegations/delegate.ts";
import {
  acrossTenants,
  afterStepUp,
  byPerson,
  forBound,
  inTenant,
  signedIn,
} from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { created, noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { userIdPath } from "./user_shapes.ts";

const endpoint = endpointsIn("Delegations");
const path = "/api/v1/delegations";
const one = z.object({ id: uuid });
const page = { 200: { description: "A page, the newest first", schema: pagedResultOf(Delegation) } };

/** One user acts as another one, with a reason and for at most an hour. */
export const delegationRoutes = [
  endpoint("POST /api/v1/users/{id}/act-as", {
    id: "actAsUser",
    summary: "Act as a user of the tenant, or ask for the user's consent",
    details: "The user gets a mail. The caller must hold all permissions of the user.",
    access: afterStepUp(byPerson(inTenant("act-as:users"))),
    params: userIdPath,
    body: NewDelegation,
    creates: "a secret",
    answers: { 201: { description: "Open, or Requested", schema: OpenedDelegation } },
    problems: ["USER_NOT_FOUND", "USER_SELF_CONFLICT", "DELEGATION_FORBIDDEN"],
    run: async ({ platform, caller, params, body }) =>
      created(await actAs(platform, caller, params.id, body), path),
  }),
  endpoint("POST /api/v1/admin/tenants/{tenantId}/work-in", {
    id: "workInTenant",
    summary: "Work in a tenant for up to an hour, without a link to it",
    access: afterStepUp(byPerson(acrossTenants("admin:system"))),
    params: z.object({ tenantId: uuid }),
    body: NewDelegation,
    creates: "a secret",
    answers: { 201: { description: "Open", schema: OpenedDelegation } },
    problems: ["TENANT_NOT_FOUND"],
    run: async ({ platform, caller, params, body }) =>
      created(await workInTenant(platform, caller, params.tenantId, body), path),
  }),
  endpoint(`GET ${path}`, {
    id: "listDelegations",
    summary: "List who acted as users of the tenant",
    access: inTenant("act-as:users"),
    query: z.object(pageQuery()),
    answers: page,
    run: async ({ db, caller, query }) => ok(await listDelegations(db, caller, query)),
  }),
  endpoint(`POST ${path}/{id}/open`, {
    id: "openDelegation",
    summary: "Begin a delegation that the user has allowed, or get another token for an open one",
    access: forBound(afterStepUp(byPerson(signedIn))),
    params: one,
    creates: "a secret",
    answers: { 200: { description: "The delegation and its token", schema: OpenedDelegation } },
    problems: [
      "DELEGATION_NOT_FOUND",
      "DELEGATION_STATE_CONFLICT",
      "DELEGATION_FORBIDDEN",
      "USER_NOT_FOUND",
      "MISSING_PERMISSION",
    ],
    run: async ({ platform, caller, params }) => ok(await openDelegation(platform, caller, params.id)),
  }),
  endpoint(`POST ${path}/{id}/end`, {
    id: "endDelegation",
    summary: "End a delegation: as its actor, its user, or a holder of act-as:users in the tenant",
    access: forBound(byPerson(signedIn)),
    params: one,
    answers: { 204: { description: "Ended" } },
    problems: ["DELEGATION_NOT_FOUND"],
    run: ({ platform, caller, params }) => noContentAfter(endDelegation(platform, caller, params.id)),
  }),
  endpoint("GET /api/v1/auth/me/delegations", {
    id: "listMyDelegations",
    summary: "List who acted, or asks to act, as the caller",
    access: forBound(byPerson(signedIn)),
    query: z.object(pageQuery()),
    answers: page,
    run: async ({ db, caller, query }) => ok(await listOwnDelegations(db, caller, query)),
  }),
  ...(["allow", "refuse"] as const).map((verb) =>
    endpoint(`POST /api/v1/auth/me/delegations/{id}/${verb}`, {
      id: verb === "allow" ? "allowDelegation" : "refuseDelegation",
      summary: verb === "allow"
        ? "Allow a request to act as the caller"
        : "Refuse a request to act as the caller",
      access: forBound(byPerson(signedIn)),
      params: one,
      answers: { 200: { description: "Decided", schema: Delegation } },
      problems: ["DELEGATION_NOT_FOUND", "DELEGATION_STATE_CONFLICT"],
      run: async ({ platform, caller, params }) =>
        ok(await decideDelegation(platform, caller, params.id, verb === "allow")),
    })
  ),
] as const;
