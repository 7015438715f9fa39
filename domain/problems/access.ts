import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of access administration. */
export const ACCESS_PROBLEMS = {
  USER_NOT_FOUND: entry(
    404,
    "User not found",
    "No such user exists in this tenant. The id or email may be wrong, or the user is deleted or in another tenant.",
    "Check the id or email.",
  ),
  TENANT_NOT_FOUND: entry(
    404,
    "Tenant not found",
    "No such tenant exists. The id may be wrong, or the tenant is deleted.",
    "Check the id.",
  ),
  ROLE_NOT_FOUND: entry(
    404,
    "Role not found",
    "The tenant has no such role. The id may be wrong, or the role is deleted or belongs to another tenant.",
    "Check the id.",
  ),
  PERMISSION_NOT_FOUND: entry(
    404,
    "Permission not found",
    "The tenant has no such permission. The id or code may be wrong, or the permission is deleted or belongs to another tenant.",
    "Check the id or code.",
  ),
  USER_ALREADY_EXISTS: entry(
    409,
    "Email already in use",
    "The user was not saved because another user has this email. That user may be deleted.",
    "Use another email, or link the existing user.",
  ),
  USER_ALREADY_ASSIGNED: entry(
    409,
    "User already linked to the tenant",
    "The user was not linked because an active or deactivated link to this tenant exists. Nothing was changed.",
    "Change the existing link instead.",
  ),
  USER_SELF_CONFLICT: entry(
    409,
    "Callers cannot delete or deactivate themselves",
    "The request would delete or deactivate the caller's own user.",
    "Ask another administrator to do it.",
  ),
  LAST_SYSTEM_ADMIN_CONFLICT: entry(
    409,
    "Last system administrator",
    "The change would leave no active user with admin:system; at least one must remain.",
    "Grant admin:system to another user first.",
  ),
  ROLE_ALREADY_EXISTS: entry(
    409,
    "Role name already in use",
    "The role was not saved because the tenant has another role with this name.",
    "Use another name.",
  ),
  ROLE_SYSTEM_PROTECTED_CONFLICT: entry(
    409,
    "Catalog role is protected",
    "A catalog role cannot be renamed or deleted, and its permissions cannot be removed.",
    "Create your own role with the permissions you need.",
  ),
  ROLE_ASSIGNED_CONFLICT: entry(
    409,
    "Role is in use",
    "The role was not deleted because users hold it.",
    "Remove the role from these users first.",
  ),
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED: entry(
    403,
    "Caller lacks the granted permissions",
    "The request would grant permissions that the caller does not hold.",
    "Grant only permissions you hold, or ask a system administrator.",
  ),
  PERMISSION_ALREADY_EXISTS: entry(
    409,
    "Permission code already in use",
    "The permission was not created because another permission has this code.",
    "Use another code.",
  ),
  PERMISSION_SYSTEM_PROTECTED_CONFLICT: entry(
    409,
    "Built-in permission is protected",
    "A built-in permission cannot be changed or deleted.",
    "Create your own permission.",
  ),
  PERMISSION_ASSIGNED_CONFLICT: entry(
    409,
    "Permission is in use",
    "The permission was not deleted because roles have it.",
    "Remove the permission from these roles first.",
  ),
  TENANT_ALREADY_EXISTS: entry(
    409,
    "Tenant name already in use",
    "The tenant was not saved because another tenant has this name.",
    "Use another name.",
  ),
  TENANT_HAS_CHILDREN_CONFLICT: entry(
    409,
    "Group has child tenants",
    "The group tenant was not deleted because it has child tenants.",
    "Delete the child tenants or move them out of the group first.",
  ),
  TENANT_PLATFORM_CONFLICT: entry(
    409,
    "Platform tenant is protected",
    "The platform tenant cannot be deleted, deactivated or given a parent, and no second one can be created.",
    "Do not change the platform tenant in this way.",
  ),
  TENANT_CAPACITY_REACHED: entry(
    400,
    "Tenant is full",
    "No active user was added because the tenant has as many active users as maxUsers allows.",
    "Increase maxUsers, or deactivate a link.",
  ),
} satisfies Record<string, CatalogueEntry>;
