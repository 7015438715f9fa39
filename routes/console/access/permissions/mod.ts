import { done } from "../../shared/actions.ts";
import type { ConsolePage } from "../../shared/page.ts";
import { defaultRolesPage } from "./default_roles.tsx";
import { editPermissionPage, newPermissionPage } from "./form.tsx";
import { importPage, importTemplate } from "./import.tsx";
import { permissionsPage } from "./list.tsx";
import { permissionTexts } from "./texts.ts";

/** Pages of built-in permissions and of the tenant's custom permissions. */
export const permissionsPages: ConsolePage[] = [
  { path: "permissions", permissions: ["read:permissions"], get: permissionsPage },
  newPermissionPage,
  importPage,
  { path: "permissions/import/template", permissions: ["create:permissions"], get: importTemplate },
  editPermissionPage,
  defaultRolesPage,
  {
    path: "permissions/{id}/delete",
    permissions: ["delete:permissions"],
    async post(v) {
      const { code } = await v.api.act("readPermission", v);
      await v.api.act("deletePermission", v);
      return done("permissions", permissionTexts[v.locale].wasDeleted(code));
    },
  },
];
