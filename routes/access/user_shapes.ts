import { z } from "zod";
import {
  anyRoleIds,
  externalId,
  isDefault,
  namedId,
  requiredRoleIds,
} from "../../domain/access/users/link_targets.ts";
import { USER_SORTS } from "../../domain/access/users/user_list.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { listQuery, queryBoolean, queryInteger } from "../shared/validation.ts";

export const userIdPath = z.object({ id: uuid });
export const userPath = z.object({ userId: uuid });

export const AddLinkRequest = z.object({ tenantId: namedId, roleIds: requiredRoleIds, isDefault, externalId })
  .meta({ id: "CreateUserTenantAssignmentDto" });

export const AddTenantUserRequest = z.object({
  userId: namedId,
  roleIds: requiredRoleIds,
  isDefault,
  externalId,
})
  .meta({ id: "AddTenantUserDto" });

/** Also takes the roles that the GET answers. */
export const SetRolesRequest = z.preprocess(
  (given) => Array.isArray(given) ? { roleIds: given.map((role) => role?.id) } : given,
  z.object({
    roleIds: anyRoleIds.describe("Empty: none"),
  }).meta({ id: "SetUserRolesDto" }),
);

export const usersQuery = {
  ...listQuery(USER_SORTS),
  isActive: queryBoolean.optional(),
  roleName: z.string().normalize("NFC").max(200).optional(),
  isLockedOut: queryBoolean.optional(),
  hasSecondFactor: queryBoolean.optional(),
  isAdministrator: queryBoolean.optional().describe(
    "Users who may, or may not, change users or roles, or administer the service",
  ),
  notSignedInForDays: queryInteger(1, 3650).optional().describe(
    "Users who have not signed in for these days, and are not newer than that",
  ),
  externalId: z.string().trim().normalize("NFC").max(200).optional().describe(
    "Users with exactly this external id",
  ),
};
