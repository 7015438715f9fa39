import { Fields, formView } from "../../components/fields.tsx";
import { done, formPage, type Sent } from "../../shared/actions.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, fieldsIn, type View, type Visit } from "../../shared/page.ts";
import { permissionTexts } from "./texts.ts";
import { DEFAULT_ROLES } from "../../../../domain/access/roles/default_roles.ts";

export const newPermissionPage = formPage({
  path: "permissions/new",
  permissions: ["create:permissions"],
  show: (v, sent) => permissionForm(v, sent, null),
  async send(v, form) {
    const body = fieldsIn(form, "code", "description", "category");
    const { code } = await v.api.call("createPermission", { body });
    return done("permissions", permissionTexts[v.locale].wasCreated(code));
  },
});

/** The form of an existing permission. The code cannot be changed. */
export const editPermissionPage = formPage({
  path: "permissions/{id}",
  permissions: ["update:permissions"],
  restarts: true,
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readPermission", { params: v.params });
    return await permissionForm(v, sent, { ...value, etag });
  },
  async send(v, form) {
    const body = fieldsIn(form, "description", "category");
    await v.api.call("updatePermission", { params: v.params, body, ifMatch: field(form, "etag") });
    return done("permissions", permissionTexts[v.locale].saved);
  },
});

/** @param stored the existing permission; null for a new one */
async function permissionForm(
  v: Visit,
  sent: Sent | null,
  stored: { id: string; code: string; etag: string } | null,
): Promise<View> {
  const t = permissionTexts[v.locale];
  const { create, save } = commonTexts[v.locale];
  const { items } = await v.api.call("suggestCategories", { query: { limit: 50 } });
  const f = new Fields(v, sent, "createPermission", { ...stored });
  return formView(f, {
    title: stored ? t.editOf(stored.code) : t.newPermission,
    crumbs: [{ href: "permissions", label: t.permissions }],
    submit: stored ? save : create,
    inputs: [
      !stored && f.text("code", t.code, { hint: t.codeHint }),
      f.text("category", t.category, { suggestions: items.map(({ category }) => category) }),
      f.text("description", t.description),
    ],
  });
}

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
