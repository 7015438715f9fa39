import { type ConsoleSection, navItem } from "../shared/page.ts";
import { auditPage } from "./audit/audit.tsx";
import { timelinePage } from "./audit/timeline.tsx";
import { auditTexts } from "./audit/texts.ts";
import { dataPages } from "./data/mod.tsx";
import { explainPage, explainTexts } from "./explain.tsx";
import { permissionsPages } from "./permissions/mod.tsx";
import { permissionTexts } from "./permissions/texts.ts";
import { rolesPages } from "./roles/mod.tsx";
import { roleTexts } from "./roles/texts.ts";
import { signInPages } from "./sign_in/provider_pages.tsx";
import { directoryPages, registrationPage, settingsPages, SIGN_IN } from "./sign_in/sign_in_page.tsx";
import { tenantsPages } from "./tenants/mod.tsx";
import { tenantTexts } from "./tenants/texts.ts";
import { usersPages } from "./users/mod.ts";
import { userTexts } from "./users/texts.ts";

/** Users, roles, permissions, tenants, access explanations and the audit log. */
export const accessSection: ConsoleSection = {
  area: "access",
  title: { en: "Access", pt: "Acessos" },
  nav: [
    navItem(userTexts, "users", { path: "users", icon: "users" }),
    navItem(roleTexts, "roles", { path: "roles", icon: "roles", needsTenant: true }),
    navItem(permissionTexts, "permissions", { path: "permissions", icon: "permissions", needsTenant: true }),
    navItem(tenantTexts, "tenants", { path: "tenants", icon: "tenants", needsTenant: true }),
    navItem(explainTexts, "title", { path: "explain-access", icon: "access" }),
    navItem(auditTexts, "title", { path: "audit", icon: "audit" }),
  ],
  pages: [
    ...usersPages,
    ...rolesPages,
    ...permissionsPages,
    ...signInPages(SIGN_IN),
    ...settingsPages,
    registrationPage,
    ...directoryPages,
    ...tenantsPages,
    ...dataPages,
    { path: "explain-access", permissions: ["read:users", "manage:all-users"], get: explainPage },
    { path: "audit", permissions: ["read:users"], get: auditPage },
    timelinePage,
  ],
};
