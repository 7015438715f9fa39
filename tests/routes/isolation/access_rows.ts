import { type Ask, named, type Row, type Rows } from "./rows.ts";
import type { Kind } from "./world.ts";

const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
type Id = (kind: Kind) => string;

const user = (params: (id: Id) => Record<string, string>, body?: unknown): Row => ({
  names: (id) => ({ params: params(id), ...(body === undefined ? {} : { body }) }),
  code: "USER_NOT_FOUND",
});
const byId = (id: Id) => ({ id: id("user") });
const byUserId = (id: Id) => ({ userId: id("user") });
/** Tenant routes distinguish a tenant out of reach from a missing one. */
const tenant = (body?: unknown): Row => ({
  names: (id) => ({ params: { id: id("tenant") }, ...(body === undefined ? {} : { body }) }),
  code: "CROSS_TENANT_FORBIDDEN",
  absent: "TENANT_NOT_FOUND",
});
const role = (body?: unknown) => named("role", "ROLE_NOT_FOUND", { body });
const rolePermission: Row = {
  names: (id) => ({ params: { id: id("role"), permId: id("permission") } }),
  code: "ROLE_NOT_FOUND",
};
const invitation = named("invitation", "INVITATION_NOT_FOUND");
const permission = (body?: unknown) => named("permission", "PERMISSION_NOT_FOUND", { body });
const platform = (ask: (id: Id) => Ask = () => ({})): Row => ({ refused: "MISSING_PERMISSION", ask });
const platformUser = (body?: unknown): Row =>
  platform((id) => ({ params: byId(id), ...(body === undefined ? {} : { body }) }));
const platformTenant = platform((id) => ({ params: { tenantId: id("tenant") } }));
const delegation = named("user", "DELEGATION_NOT_FOUND");
const ownRequest: Row = {
  names: (id) => ({ params: { requestId: id("user") } }),
  code: "DATA_REQUEST_NOT_FOUND",
};
const list = (query: Record<string, string> = {}): Row => ({ own: () => ({ query }) });
const newUser = { email: "outsiders.user@example.test", password: BCRYPT, isPasswordEncrypted: true };

export const accessRows: Rows = {
  listUsers: list({ search: "victim", includeDeleted: "true" }),
  readUserByEmail: user((id) => ({ email: id("email") })),
  readUser: user(byId),
  createUser: {
    names: (id) => ({ body: { ...newUser, tenants: [{ tenantId: id("tenant"), roleIds: [id("role")] }] } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  updateUser: user(byId, { firstName: "Mallory", isActive: false }),
  deleteUser: user(byId),
  listUserPermissions: user(byUserId),
  listUserRoles: user(byUserId),
  listUserTenants: user(byUserId),
  setUserRoles: user(byUserId, { roleIds: [] }),
  activateUser: user(byId),
  deactivateUser: user(byId),
  sendPasswordReset: user(byId),
  unlockTenantUser: user(byId),
  listTenantUserSessions: user(byId),
  endTenantUserSessions: user(byId),
  endTenantUserSession: {
    names: (id) => ({ params: { id: id("user"), sessionId: id("session") } }),
    code: "USER_NOT_FOUND",
  },
  explainTenantAccess: named("user", "USER_NOT_FOUND", { query: { permission: "read:users" } }),
  exportUser: user(byId),
  eraseUser: user(byId, { reason: "isolation" }),
  listUserDataRequests: { own: ({ ids }) => ({ params: { id: ids.user } }) },
  readUserDataRequest: {
    names: (id) => ({ params: { id: id("user"), requestId: id("user") } }),
    code: "DATA_REQUEST_NOT_FOUND",
  },
  actAsUser: user(byId, { reason: "isolation" }),
  workInTenant: platform((id) => ({ params: { tenantId: id("tenant") }, body: { reason: "isolation" } })),
  listDelegations: list(),
  openDelegation: delegation,
  endDelegation: delegation,
  listMyDelegations: list(),
  allowDelegation: delegation,
  refuseDelegation: delegation,
  exportMyData: { own: () => ({}) },
  listMyDataRequests: { own: () => ({}) },
  readMyDataRequest: ownRequest,
  downloadMyData: ownRequest,

  inviteUser: {
    names: (id) => ({ body: { email: "outsiders.guest@example.test", roleIds: [id("role")] } }),
    code: "ROLE_NOT_FOUND",
  },
  listInvitations: list({ email: "victims.guest@example.test" }),
  startUserImport: { names: (id) => ({ body: { fileId: id("file") } }), code: "FILE_NOT_FOUND" },
  listUserImports: list(),
  readUserImport: named("userImport", "USER_IMPORT_NOT_FOUND"),
  previewUserImport: named("userImport", "USER_IMPORT_NOT_FOUND"),
  startUserImportAnywhere: platform((id) => ({ body: { fileId: id("file") } })),
  listUserImportsAnywhere: platform(),
  readUserImportAnywhere: platform((id) => ({ params: { id: id("userImport") } })),
  readInvitation: invitation,
  resendInvitation: invitation,
  revokeInvitation: invitation,
  removeTenantUserFactors: user(byId),

  listAllUsers: platform(),
  createUserAnywhere: platform(() => ({ body: newUser })),
  readUserAnywhere: platformUser(),
  updateUserAnywhere: platformUser({ tenants: [] }),
  deleteUserAnywhere: platformUser(),
  listUserTenantsAnywhere: platformUser(),
  addUserTenant: platform((id) => ({
    params: byId(id),
    body: { tenantId: id("tenant"), roleIds: [id("role")] },
  })),
  explainAccess: platform((id) => ({ params: byId(id), query: { permission: "read:users" } })),

  listUserSessions: platformUser(),
  endUserSessions: platformUser(),
  endUserSession: platform((id) => ({ params: { id: id("user"), sessionId: id("session") } })),
  unlockUser: platformUser(),
  sendPasswordResetAnywhere: platformUser(),
  removeUserFactors: platformUser(),
  exportUserAnywhere: platformUser(),
  eraseUserAnywhere: platformUser({ reason: "isolation" }),
  listAllUserDataRequests: platformUser(),
  readAnyUserDataRequest: platform((id) => ({ params: { id: id("user"), requestId: id("user") } })),
  exportTenant: platformTenant,
  eraseTenant: platform((id) => ({
    params: { tenantId: id("tenant") },
    body: { reason: "isolation", name: "victim" },
  })),
  listTenantDataRequests: platformTenant,
  readTenantDataRequest: platform((id) => ({ params: { tenantId: id("tenant"), requestId: id("user") } })),

  summarizeAllTenants: platform(),
  lookUpAllTenants: platform(),
  listRolesOfTenant: platformTenant,
  lookUpRolesOfTenant: platformTenant,

  listTenants: list({ search: "victim" }),
  summarizeTenants: list(),
  lookUpTenants: list(),
  readTenant: tenant(),
  createTenant: {
    names: (id) => ({ body: { name: "Child", type: "Standard", parentTenantId: id("tenant") } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  updateTenant: tenant({ name: "Taken" }),
  deleteTenant: tenant(),
  // A caller who knows an existing user's id may link the user to their own tenant, but not to another one.
  addTenantUser: {
    names: (id) => ({ params: { id: id("tenant") }, body: { userId: id("user"), roleIds: [id("role")] } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },

  listRoles: list({ search: "victim" }),
  summarizeRoles: list(),
  lookUpRoles: { own: ({ ids }) => ({ query: { ids: ids.role } }) },
  listRoleGrants: { own: ({ ids }) => ({ query: { ids: ids.role } }) },
  readRole: role(),
  createRole: {
    names: (id) => ({ body: { name: "Borrowed", permissionIds: [id("permission")] } }),
    code: "PERMISSION_NOT_FOUND",
  },
  previewRole: role({ permissionIds: [] }),
  previewMove: {
    names: (id) => ({ params: { id: id("role") }, body: { userIds: [id("user")] } }),
    code: "ROLE_NOT_FOUND",
  },
  updateRole: role({ name: "Mallory", permissionIds: [] }),
  deleteRole: role(),
  assignPermission: rolePermission,
  revokePermission: rolePermission,

  checkAccess: {
    own: ({ ids }) => ({
      body: { checks: [{ userId: ids.user, tenantId: ids.tenant, permission: "read:users" }] },
    }),
  },
  listPermissions: list({ search: "victim" }),
  readPermissionCatalog: list({ search: "victim" }),
  suggestCategories: list({ search: "victim" }),
  readPermissionByCode: {
    names: (id) => ({ params: { code: id("permissionCode") } }),
    code: "PERMISSION_NOT_FOUND",
  },
  readPermission: permission(),
  createPermission: {
    own: () => ({ body: { code: "outsiders:thing", description: "of one's own", category: "Own" } }),
  },
  updatePermission: permission({ description: "Mallory", category: "Mallory" }),
  deletePermission: permission(),
  setDefaultRoles: platform((id) => ({ params: { id: id("permission") }, body: { roles: ["Admin"] } })),
  readImportTemplate: { own: () => ({ query: { format: "Csv", mode: "Permissions" } }) },
  importPermissions: {
    own: () => ({
      query: { mode: "Permissions", upsert: "true" },
      body: { permissions: [{ code: "outsiders:thing", description: "imported", category: "Own" }] },
    }),
  },
  importPermissionFile: {
    own: () => {
      const form = new FormData();
      const csv = "code,description,category\r\noutsiders:thing,imported,Own\r\n";
      form.set("file", new File([csv], "permissions.csv", { type: "text/csv" }));
      return { query: { mode: "Permissions", upsert: "true" }, body: form };
    },
  },
  readAuditLog: { own: ({ ids }) => ({ query: { tenantId: ids.tenant, pageSize: "100" } }) },
};
