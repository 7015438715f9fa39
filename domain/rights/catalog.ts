/** The built-in permissions, and the roles that the service creates in tenants. */

export type PermissionReach = "Platform" | "Tenant";
export interface CatalogPermission {
  code: string;
  category: string;
  description: string;
  reach: PermissionReach;
}

const tenantReach = (category: string, entries: Record<string, string>): CatalogPermission[] =>
  Object.entries(entries).map(([code, description]) => ({ code, category, description, reach: "Tenant" }));
const platformReach = (entries: Record<string, string>): CatalogPermission[] =>
  Object.entries(entries).map(([code, description]) => ({
    code,
    category: "Platform",
    description,
    reach: "Platform",
  }));

export const CATALOG_PERMISSIONS: CatalogPermission[] = [
  ...platformReach({
    "admin:system": "Everything in every tenant, except the file module",
    "manage:all-users": "Administer users across tenants",
    "manage:all-tenants": "Administer tenants across the service",
  }),
  ...tenantReach("Users", {
    "read:users": "Read the tenant's users",
    "create:users": "Create users in the tenant",
    "update:users": "Change, activate and deactivate the tenant's users",
    "delete:users": "Remove users from the tenant",
    "export:users": "Export the personal data of the tenant's users",
    "erase:users": "Erase the personal data of the tenant's users",
    "act-as:users": "Act as users of the tenant for up to an hour",
  }),
  ...tenantReach("Roles", {
    "read:roles": "Read the tenant's roles",
    "create:roles": "Create roles",
    "update:roles": "Change roles and their permissions",
    "delete:roles": "Delete roles",
  }),
  ...tenantReach("Permissions", {
    "read:permissions": "Read the permission catalog",
    "create:permissions": "Create and import permissions",
    "update:permissions": "Change permissions",
    "delete:permissions": "Delete permissions",
  }),
  ...tenantReach("Tenants", {
    "read:tenants": "Read tenants within reach",
    "create:tenants": "Create tenants",
    "update:tenants": "Change tenants within reach",
    "delete:tenants": "Delete tenants within reach",
  }),
  ...tenantReach("Files", {
    "upload:files": "Reserve, confirm and reference files",
    "read:files": "Read file records and download",
    "retain:files": "Change retention and legal holds",
    "purge:files": "Destroy file content",
  }),
  ...tenantReach("Jobs", {
    "run:http-requests": "Have jobs call URLs (steward.http-request)",
    "manage:jobs": "Pause and resume queues and job types",
    "manage:job-types": "Declare job types whose handlers run outside of the service",
    "work:jobs": "Claim and settle jobs of declared types",
  }),
  ...tenantReach("Notifications", { "send:notifications": "Send messages and manage templates" }),
  ...tenantReach("Documents", {
    "manage:document-templates": "Change templates of documents such as invoices and letters",
    "generate:documents": "Generate documents from templates and see them",
  }),
  ...tenantReach("Resources", {
    "manage:applications": "Change applications",
    "manage:settings": "Change settings",
  }),
  ...tenantReach("Integration", {
    "manage:api-keys": "Make and revoke API keys",
    "manage:service-accounts": "Make, change and revoke service accounts",
    "manage:oauth-clients": "Make, change and revoke OAuth clients",
    "provision:users": "Provision the tenant's users and the holders of its roles by SCIM",
    "manage:sign-in":
      "Set up the tenant's own identity providers, its email domains, and sign-in by password",
    "publish:events": "Publish events of own types",
    "read:events": "Poll the events of the tenant",
    "check:access": "Ask whether users have permissions, and introspect tokens",
    "manage:webhooks": "Manage webhook endpoints and see what was sent to them",
  }),
  ...tenantReach("Groups", {
    "read:group-tenants": "See the group's child tenants",
    "read:group-analytics": "Include the group's child tenants in summaries",
    "read:group-data": "Include the child tenants' rows in reports",
    "manage:child-tenants": "Create, change and delete child tenants",
  }),
];

/** Codes of the permissions with platform reach. */
export const PLATFORM_REACH: ReadonlySet<string> = new Set(
  CATALOG_PERMISSIONS.filter(({ reach }) => reach === "Platform").map(({ code }) => code),
);

/** Codes of the file module's permissions. */
export const FILE_MODULE: readonly string[] = CATALOG_PERMISSIONS
  .filter(({ category }) => category === "Files").map(({ code }) => code);
const OF_FILES = new Set(FILE_MODULE);

/** True if `code` is a permission of the file module, which admin:system does not include. */
export const isOfFileModule = (code: string): boolean => OF_FILES.has(code);

/** The permissions that allow what `code` allows: `code` itself and, except in the file module, admin:system. */
export const sufficientFor = (code: string): string[] =>
  isOfFileModule(code) ? [code] : [code, "admin:system"];

/** True if the permissions `held` include `code`, also by admin:system. */
export const includesPermission = (held: ReadonlySet<string>, code: string): boolean =>
  sufficientFor(code).some((sufficient) => held.has(sufficient));

export interface CatalogRole {
  name: string;
  description: string;
  where: "platform" | "everywhere";
  permissions: string[];
}

export const CATALOG_ROLES: CatalogRole[] = [
  {
    name: "SystemAdmin",
    description: "Administers the service and all tenants",
    where: "platform",
    permissions: ["admin:system"],
  },
  {
    name: "Admin",
    description: "Administers one tenant",
    where: "everywhere",
    permissions: [
      "read:users",
      "create:users",
      "update:users",
      "delete:users",
      "read:roles",
      "create:roles",
      "update:roles",
      "delete:roles",
      "read:permissions",
      "read:tenants",
      "upload:files",
      "read:files",
      "send:notifications",
    ],
  },
  {
    name: "Visitor",
    description: "Reads the tenant's data; changes nothing",
    where: "everywhere",
    permissions: ["read:users", "read:roles", "read:permissions", "read:tenants", "read:files"],
  },
  {
    name: "GroupAdmin",
    description: "Administers the child tenants of a group",
    where: "everywhere",
    permissions: ["read:group-tenants", "read:group-analytics", "read:group-data", "manage:child-tenants"],
  },
];
