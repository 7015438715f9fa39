import { DEFAULT_ROLES } from "../../../../domain/access/roles/default_roles.ts";
import { Fields, formView } from "../../components/fields.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { field } from "../../shared/page.ts";
import { permissionTexts } from "./texts.ts";

/** The catalog roles that have a permission in every tenant. */
export const defaultRolesPage = formPage({
  path: "permissions/{id}/default-roles",
  permissions: ["admin:system"],
  restarts: true,
  async show(v, sent) {
    const t = permissionTexts[v.locale];
    const { value, etag } = await v.api.versioned("readPermission", { params: v.params });
    const f = new Fields(v, sent, "setDefaultRoles", { roles: value.defaultRoles, etag });
    return formView(f, {
      title: t.defaultRolesOf(value.code),
      crumbs: [{ href: "permissions", label: t.permissions }],
      intro: t.defaultRolesIntro,
      inputs: (
        <fieldset>
          <legend>{t.defaultRoles}</legend>
          {f.choices("roles", DEFAULT_ROLES.map((value) => ({ value, label: value })))}
        </fieldset>
      ),
    });
  },
  async send(v, form) {
    const roles = form.getAll("roles").map(String);
    const { code } = await v.api.call("setDefaultRoles", {
      params: v.params,
      body: { roles },
      ifMatch: field(form, "etag"),
    });
    return done("permissions", permissionTexts[v.locale].defaultRolesSaved(code));
  },
});
