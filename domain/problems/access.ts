import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of access administration. */
export const ACCESS_PROBLEMS = {
  USER_NOT_FOUND: entry(
    404,
    "No such user",
    "The user does not exist, is deleted, or is not in this tenant.",
    "Check the id.",
  ),
  TENANT_NOT_FOUND: entry(404, "No such tenant", "The tenant does not exist or is deleted.", "Check the id."),
  ROLE_NOT_FOUND: entry(
    404,
    "No such role",
    "The role does not exist, is deleted, or belongs to another tenant.",
    "Check the id.",
  ),
  PERMISSION_NOT_FOUND: entry(
    404,
    "No such permission",
    "The permission does not exist, is deleted, or belongs to another tenant.",
    "Check the id or code.",
  ),
  USER_ALREADY_EXISTS: entry(
    409,
    "The email is taken",
    "A user with this email exists already, possibly a deleted one.",
    "Use another email, or link the existing user.",
  ),
  USER_ALREADY_ASSIGNED: entry(
    409,
    "Already linked",
    "The user is linked to this tenant already, actively or not; nothing was changed.",
    "Change the existing link instead.",
  ),
  USER_SELF_CONFLICT: entry(
    409,
    "Not on oneself",
    "Callers may not delete or deactivate themselves.",
    "Have another administrator do it.",
  ),
  LAST_SYSTEM_ADMIN_CONFLICT: entry(
    409,
    "The last system administrator",
    "The change would leave nobody active who holds admin:system.",
    "Give admin:system to someone else first.",
  ),
  ROLE_ALREADY_EXISTS: entry(
    409,
    "The role name is taken",
    "The tenant has a role of this name already.",
    "Use another name.",
  ),
  ROLE_SYSTEM_PROTECTED_CONFLICT: entry(
    409,
    "A catalog role",
    "Catalog roles cannot be changed, deleted or stripped of permissions.",
    "Make a role of your own and give it what you need.",
  ),
  ROLE_ASSIGNED_CONFLICT: entry(
    409,
    "The role is in use",
    "Users still hold this role.",
    "Take it from them first.",
  ),
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED: entry(
    403,
    "More rights than the caller has",
    "The roles or permissions given would grant what the caller does not hold.",
    "Give only what you hold yourself, or ask a system administrator.",
  ),
  PERMISSION_ALREADY_EXISTS: entry(
    409,
    "The permission code is taken",
    "A permission with this code exists already.",
    "Use another code.",
  ),
  PERMISSION_SYSTEM_PROTECTED_CONFLICT: entry(
    409,
    "A catalog permission",
    "Permissions the service itself relies on cannot be changed or deleted.",
    "Make a permission of your own.",
  ),
  PERMISSION_ASSIGNED_CONFLICT: entry(
    409,
    "The permission is in use",
    "Roles still carry this permission.",
    "Take it from them first.",
  ),
  TENANT_ALREADY_EXISTS: entry(
    409,
    "The tenant name is taken",
    "A tenant of this name exists already.",
    "Use another name.",
  ),
  TENANT_HAS_CHILDREN_CONFLICT: entry(
    409,
    "The group has children",
    "A group tenant cannot be deleted while tenants belong to it.",
    "Delete or move its children first.",
  ),
  TENANT_PLATFORM_CONFLICT: entry(
    409,
    "The platform tenant",
    "The platform tenant cannot be deleted or deactivated, and there is exactly one.",
    "Leave it as it is.",
  ),
  TENANT_CAPACITY_REACHED: entry(
    400,
    "The tenant is full",
    "The tenant has as many active users as its maxUsers allows.",
    "Raise maxUsers, or deactivate a link.",
  ),
} satisfies Record<string, CatalogueEntry>;
