import { DEFAULT_ROLES } from "../../../../domain/access/roles/default_roles.ts";
import { Fields, Form } from "../../components/fields.tsx";
import { Card } from "../../components/notice.tsx";
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
    return {
      title: t.defaultRolesOf(value.code),
      crumbs: [{ href: "permissions", label: t.permissions }],
      body: (
        <Card>
          <Form
            fields={f}
            action={`permissions/${value.id}/default-roles`}
            back="permissions"
            intro={t.defaultRolesIntro}
          >
            <fieldset>
              <legend>{t.defaultRoles}</legend>
              {f.choices("roles", DEFAULT_ROLES.map((value) => ({ value, label: value })))}
            </fieldset>
          </Form>
        </Card>
      ),
    };
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
