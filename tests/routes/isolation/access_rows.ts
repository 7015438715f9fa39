import { all, type Ask, type Id, named, ofPlatform, own, type Row, type Rows } from "./rows.ts";

const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";

const user = (more: Ask = {}) => named("user", "USER_NOT_FOUND", more);
const ofUser = (body?: unknown): Row => ({
  names: (id) => ({ params: { userId: id("user") }, body }),
  code: "USER_NOT_FOUND",
});
/** Tenant routes distinguish a tenant out of reach from a missing one. */
const tenant = (more: (id: Id) => Ask = () => ({})): Row => ({
  names: (id) => ({ params: { id: id("tenant") }, ...more(id) }),
  code: "CROSS_TENANT_FORBIDDEN",
  absent: "TENANT_NOT_FOUND",
});
const role = (body?: unknown) => named("role", "ROLE_NOT_FOUND", { body });
const permission = (body?: unknown) => named("permission", "PERMISSION_NOT_FOUND", { body });
const platformUser = (more: (id: Id) => Ask = () => ({})): Row =>
  ofPlatform((id) => ({
    params: { id: id("user"), sessionId: id("session"), requestId: id("user") },
    ...more(id),
  }));
const platformTenant = (body?: unknown): Row =>
  ofPlatform((id) => ({ params: { tenantId: id("tenant"), requestId: id("user") }, body }));
const ofVictims = own({ query: { search: "victim", includeDeleted: "true" } });
const newUser = { email: "outsiders.user@example.test", password: BCRYPT, isPasswordEncrypted: true };
const reason = "isolation";

export const accessRows: Rows = {
  ...all(
    "listUsers listTenants listRoles listPermissions readPermissionCatalog suggestCategories",
    ofVictims,
  ),
  readUserByEmail: { names: (id) => ({ params: { email: id("email") } }), code: "USER_NOT_FOUND" },
  createUser: {
    names: (id) => ({ body: { ...newUser, tenants: [{ tenantId: id("tenant"), roleIds: [id("role")] }] } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  ...all(
    `readUser deleteUser activateUser deactivateUser sendPasswordReset unlockTenantUser listTenantUserSessions
    endTenantUserSessions removeTenantUserFactors exportUser`,
    user(),
  ),
  updateUser: user({ body: { firstName: "Mallory", isActive: false } }),
  ...all("eraseUser actAsUser", user({ body: { reason } })),
  explainTenantAccess: user({ query: { permission: "read:users" } }),
  ...all("listUserPermissions listUserRoles listUserTenants", ofUser()),
  setUserRoles: ofUser({ roleIds: [] }),
  endTenantUserSession: {
    names: (id) => ({ params: { id: id("user"), sessionId: id("session") } }),
    code: "USER_NOT_FOUND",
  },
  listUserDataRequests: { own: ({ ids }) => ({ params: { id: ids.user } }) },
  ...all("readUserDataRequest readMyDataRequest downloadMyData", {
    names: (id) => ({ params: { id: id("user"), requestId: id("user") } }),
    code: "DATA_REQUEST_NOT_FOUND",
  }),
  ...all(
    `listDelegations listMyDelegations exportMyData listMyDataRequests listUserImports summarizeTenants lookUpTenants
    summarizeRoles`,
    own(),
  ),
  ...all(
    "openDelegation endDelegation allowDelegation refuseDelegation",
    named("user", "DELEGATION_NOT_FOUND"),
  ),

  inviteUser: {
    names: (id) => ({ body: { email: "outsiders.guest@example.test", roleIds: [id("role")] } }),
    code: "ROLE_NOT_FOUND",
  },
  listInvitations: own({ query: { email: "victims.guest@example.test" } }),
  ...all("readInvitation resendInvitation revokeInvitation", named("invitation", "INVITATION_NOT_FOUND")),
  startUserImport: { names: (id) => ({ body: { fileId: id("file") } }), code: "FILE_NOT_FOUND" },
  ...all("readUserImport previewUserImport", named("userImport", "USER_IMPORT_NOT_FOUND")),
  startUserImportAnywhere: ofPlatform((id) => ({ body: { fileId: id("file") } })),
  readUserImportAnywhere: ofPlatform((id) => ({ params: { id: id("userImport") } })),

  ...all("listUserImportsAnywhere listAllUsers summarizeAllTenants lookUpAllTenants", ofPlatform()),
  createUserAnywhere: ofPlatform(() => ({ body: newUser })),
  ...all(
    `readUserAnywhere deleteUserAnywhere listUserTenantsAnywhere listUserSessions endUserSessions endUserSession unlockUser
    sendPasswordResetAnywhere removeUserFactors exportUserAnywhere listAllUserDataRequests readAnyUserDataRequest`,
    platformUser(),
  ),
  updateUserAnywhere: platformUser(() => ({ body: { tenants: [] } })),
  addUserTenant: platformUser((id) => ({ body: { tenantId: id("tenant"), roleIds: [id("role")] } })),
  explainAccess: platformUser(() => ({ query: { permission: "read:users" } })),
  eraseUserAnywhere: platformUser(() => ({ body: { reason } })),
  ...all(
    "exportTenant listTenantDataRequests readTenantDataRequest listRolesOfTenant lookUpRolesOfTenant",
    platformTenant(),
  ),
  workInTenant: platformTenant({ reason }),
  eraseTenant: platformTenant({ reason, name: "victim" }),

  ...all("readTenant deleteTenant", tenant()),
  updateTenant: tenant(() => ({ body: { name: "Taken" } })),
  createTenant: {
    names: (id) => ({ body: { name: "Child", type: "Standard", parentTenantId: id("tenant") } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  // A caller who knows an existing user's id may link the user to their own tenant, but not to another one.
  addTenantUser: {
    names: (id) => ({ params: { id: id("tenant") }, body: { userId: id("user"), roleIds: [id("role")] } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },

  ...all("lookUpRoles listRoleGrants", { own: ({ ids }) => ({ query: { ids: ids.role } }) }),
  ...all("readRole deleteRole", role()),
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
  ...all("assignPermission revokePermission", {
    names: (id) => ({ params: { id: id("role"), permId: id("permission") } }),
    code: "ROLE_NOT_FOUND",
  }),

  checkAccess: {
    own: ({ ids }) => ({
      body: { checks: [{ userId: ids.user, tenantId: ids.tenant, permission: "read:users" }] },
    }),
  },
  readPermissionByCode: {
    names: (id) => ({ params: { code: id("permissionCode") } }),
    code: "PERMISSION_NOT_FOUND",
  },
  ...all("readPermission deletePermission", permission()),
  createPermission: own({ body: { code: "outsiders:thing", description: "of one's own", category: "Own" } }),
  updatePermission: permission({ description: "Mallory", category: "Mallory" }),
  setDefaultRoles: ofPlatform((id) => ({ params: { id: id("permission") }, body: { roles: ["Admin"] } })),
  readImportTemplate: own({ query: { format: "Csv", mode: "Permissions" } }),
  importPermissions: own({
    query: { mode: "Permissions", upsert: "true" },
    body: { permissions: [{ code: "outsiders:thing", description: "imported", category: "Own" }] },
  }),
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
