import { done } from "../../shared/actions.ts";
import type { ConsolePage } from "../../shared/page.ts";
import { rolePage } from "./detail.tsx";
import { editRolePage, newRolePage } from "./form.tsx";
import { rolesPage } from "./list.tsx";
import { matrixPage } from "./matrix.tsx";
import { roleTexts } from "./texts.ts";

const READ = ["read:roles"];

/** Pages of the roles of the viewer's tenant. */
export const rolesPages: ConsolePage[] = [
  { path: "roles", permissions: READ, get: rolesPage },
  newRolePage,
  { path: "roles/matrix", permissions: READ, get: matrixPage },
  { path: "roles/{id}", permissions: READ, get: rolePage },
  editRolePage,
  {
    path: "roles/{id}/delete",
    permissions: ["delete:roles"],
    async post(v) {
      const { name } = await v.api.act("readRole", v);
      await v.api.act("deleteRole", v);
      return done("roles", roleTexts[v.locale].wasDeleted(name));
    },
  },
];
