import type { ConsoleSection } from "../shared/page.ts";
import { auditPage } from "./audit/audit.tsx";
import { words as audit } from "./audit/words.ts";
import { explainPage } from "./explain.tsx";
import { words as explain } from "./explain_words.ts";
import { permissionsPages } from "./permissions/mod.ts";
import { words as permissions } from "./permissions/words.ts";
import { rolesPages } from "./roles/mod.ts";
import { words as roles } from "./roles/words.ts";
import { tenantsPages } from "./tenants/mod.ts";
import { words as tenants } from "./tenants/words.ts";
import { usersPages } from "./users/mod.ts";
import { words as users } from "./users/words.ts";

const OVER_USERS = "manage:all-users";

/** Who may do what, where, and who changed it. */
export const accessSection: ConsoleSection = {
  title: { en: "Access", pt: "Acessos" },
  nav: [
    {
      path: "users",
      label: { en: users.en.users, pt: users.pt.users },
      icon: "users",
      permissions: ["read:users", OVER_USERS],
    },
    {
      path: "roles",
      label: { en: roles.en.roles, pt: roles.pt.roles },
      icon: "roles",
      permissions: ["read:roles"],
      needsTenant: true,
    },
    {
      path: "permissions",
      label: { en: permissions.en.permissions, pt: permissions.pt.permissions },
      icon: "permissions",
      permissions: ["read:permissions"],
      needsTenant: true,
    },
    {
      path: "tenants",
      label: { en: tenants.en.tenants, pt: tenants.pt.tenants },
      icon: "tenants",
      permissions: ["read:tenants", "read:group-tenants"],
      needsTenant: true,
    },
    {
      path: "explain-access",
      label: { en: explain.en.title, pt: explain.pt.title },
      icon: "access",
      permissions: [OVER_USERS],
    },
    {
      path: "audit",
      label: { en: audit.en.title, pt: audit.pt.title },
      icon: "audit",
      permissions: ["read:users"],
    },
  ],
  pages: [
    ...usersPages,
    ...rolesPages,
    ...permissionsPages,
    ...tenantsPages,
    { path: "explain-access", permissions: [OVER_USERS], get: explainPage },
    { path: "audit", permissions: ["read:users"], get: auditPage },
  ],
};
