import type { ConsolePage } from "../../shared/page.ts";
import { runAction } from "../actions.ts";
import { createPermission, editPermissionPage, newPermissionPage, savePermission } from "./form.tsx";
import { importFile, importPage, importTemplate } from "./import.tsx";
import { type Permission, permissionsPage } from "./list.tsx";
import { permissionTexts } from "./texts.ts";

const CREATE = ["create:permissions"];

/** Pages of built-in permissions and of the tenant's custom permissions. */
export const permissionsPages: ConsolePage[] = [
  { path: "permissions", permissions: ["read:permissions"], get: permissionsPage },
  { path: "permissions/new", permissions: CREATE, get: (v) => newPermissionPage(v), post: createPermission },
  { path: "permissions/import", permissions: CREATE, get: (v) => importPage(v), post: importFile },
  { path: "permissions/import/template", permissions: CREATE, get: importTemplate },
  {
    path: "permissions/{id}",
    permissions: ["update:permissions"],
    get: (v) => editPermissionPage(v),
    post: savePermission,
  },
  {
    path: "permissions/{id}/delete",
    permissions: ["delete:permissions"],
    async post(v) {
      const at = `permissions/${v.params.id}`;
      const { code } = await v.api.get<Permission>(at);
      const done = permissionTexts[v.locale].wasDeleted(code);
      return await runAction({ back: "permissions", done }, () => v.api.send("DELETE", at));
    },
  },
];
