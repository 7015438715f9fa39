import type { Endpoint } from "../shared/endpoint.ts";
import { adminTenantRoutes } from "./admin_tenants.ts";
import { adminUsersRoutes } from "./admin_users.ts";
import { auditLogRoutes } from "./audit_log.ts";
import { explainAccessRoutes } from "./check_access.ts";
import { dataRequestRoutes } from "./data_requests.ts";
import { delegationRoutes } from "./delegations.ts";
import { permissionImportRoutes, permissionRoutes } from "./permissions.ts";
import { roleRoutes } from "./roles.ts";
import { tenantRoutes } from "./tenants.ts";
import { userImportRoutes } from "./user_imports.ts";
import { userSecurityRoutes } from "./user_security.ts";
import { invitationRoutes, tenantUsersRoutes, usersRoutes } from "./users.ts";

/** The routes whose requests read or write files. */
export const userDataRoutes: ReadonlySet<Endpoint> = new Set([...userImportRoutes, ...dataRequestRoutes]);

/** Every route of the access area. */
export const accessRoutes = [
  // before the routes of one user, whose id would match "invitations" and "imports"
  ...invitationRoutes,
  ...userImportRoutes,
  ...usersRoutes,
  ...adminUsersRoutes,
  ...userSecurityRoutes,
  ...explainAccessRoutes,
  ...adminTenantRoutes,
  ...tenantRoutes,
  ...tenantUsersRoutes,
  ...roleRoutes,
  ...permissionRoutes,
  ...permissionImportRoutes,
  ...auditLogRoutes,
  ...dataRequestRoutes,
  ...delegationRoutes,
] as const;
