import { z } from "zod";
import { inviteUser, resendInvitation, revokeInvitation } from "../../domain/access/invitations/invite.ts";
import {
  Invitation,
  INVITATION_STATUSES,
  listInvitations,
  readInvitation,
} from "../../domain/access/invitations/invitations.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { created, ok, okAfter } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { enumName } from "../../domain/shared/shapes.ts";
import { versionedAnswer } from "./answers.ts";
import { InviteUserRequest, userIdPath } from "./user_shapes.ts";

const endpoint = endpointsIn("Users");

const path = "/api/v1/users/invitations";
const mayInvite = inTenant("create:users");
const mayRead = inTenant("read:users");
const oneInvitation = { 200: { etag: true as const, description: "The invitation", schema: Invitation } };

/** Invitations of persons to the token's tenant. */
export const invitationRoutes = [
  endpoint("POST /api/v1/users/invite", {
    id: "inviteUser",
    summary: "Invite a person to the tenant by mail; the link works for seven days",
    access: mayInvite,
    body: InviteUserRequest,
    creates: "atomically",
    answers: { 201: { description: "The new invitation", schema: Invitation } },
    problems: [
      "ROLE_NOT_FOUND",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
      "STEP_UP_REQUIRED_FORBIDDEN",
      "REGISTRATION_CLOSED_FORBIDDEN",
      "USER_ALREADY_ASSIGNED",
      "TENANT_CAPACITY_REACHED",
      "INVITATION_ALREADY_EXISTS",
    ],
    async run({ platform, caller, body }) {
      const invitation = await inviteUser(platform, caller, body);
      return created(invitation, `${path}/${invitation.id}`);
    },
  }),
  endpoint(`GET ${path}`, {
    id: "listInvitations",
    summary: "List the tenant's invitations, newest first",
    access: mayRead,
    query: z.object({
      ...pageQuery(),
      status: enumName(INVITATION_STATUSES).optional(),
      email: z.string().trim().max(320).optional(),
    }),
    answers: {
      200: {
        description: "A page of invitations",
        schema: pagedResultOf(Invitation).meta({ id: "InvitationPage" }),
      },
    },
    run: async ({ db, caller, query }) => ok(await listInvitations(db, caller.tenantId, query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readInvitation",
    summary: "Read an invitation",
    access: mayRead,
    params: userIdPath,
    answers: oneInvitation,
    problems: ["INVITATION_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readInvitation(db, caller.tenantId, params.id)),
  }),
  endpoint(`POST ${path}/{id}/resend`, {
    id: "resendInvitation",
    summary: "Mail a new link, which works for seven days; the former link stops working",
    access: mayInvite,
    params: userIdPath,
    answers: oneInvitation,
    problems: [
      "INVITATION_NOT_FOUND",
      "INVITATION_CLOSED_CONFLICT",
      "ROLE_NOT_FOUND",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
      "STEP_UP_REQUIRED_FORBIDDEN",
      "REGISTRATION_CLOSED_FORBIDDEN",
    ],
    run: async ({ platform, caller, params }) =>
      versionedAnswer(await resendInvitation(platform, caller, params.id)),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "revokeInvitation",
    summary: "Revoke an invitation; its link stops working",
    access: mayInvite,
    params: userIdPath,
    answers: { 200: { description: "The invitation is revoked" } },
    problems: ["INVITATION_NOT_FOUND", "PRECONDITION_FAILED", "INVITATION_CLOSED_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(revokeInvitation(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
