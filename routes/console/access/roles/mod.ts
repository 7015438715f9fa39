import type { ConsolePage } from "../../shared/page.ts";
import { runAction } from "../actions.ts";
import { rolePage } from "./detail.tsx";
import { createRole, editRolePage, newRolePage, saveRole } from "./form.tsx";
import { rolesPage } from "./list.tsx";
import { matrixPage } from "./matrix.tsx";
import type { Role } from "./model.tsx";
import { roleTexts } from "./texts.ts";

/** Pages of the roles of the viewer's tenant. */
export const rolesPages: ConsolePage[] = [
  { path: "roles", permissions: ["read:roles"], get: rolesPage },
  { path: "roles/new", permissions: ["create:roles"], get: (v) => newRolePage(v), post: createRole },
  { path: "roles/matrix", permissions: ["read:roles"], get: matrixPage },
  { path: "roles/{id}", permissions: ["read:roles"], get: rolePage },
  { path: "roles/{id}/edit", permissions: ["update:roles"], get: (v) => editRolePage(v), post: saveRole },
  {
    path: "roles/{id}/delete",
    permissions: ["delete:roles"],
    async post(v) {
      const at = `roles/${v.params.id}`;
      const { name } = await v.api.get<Role>(at);
      const done = roleTexts[v.locale].wasDeleted(name);
      return await runAction({ back: at, done, goTo: "roles" }, () => v.api.send("DELETE", at));
    },
  },
];
