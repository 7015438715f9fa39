import { problem } from "../../../../domain/problems/problem.ts";
import { Fields, formView } from "../../components/fields.tsx";
import { buttonLink, CheckField, CsrfField, SEARCH_LENGTH } from "../../components/forms.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { Badge } from "../../components/values.tsx";
import { done, formPage, sendTo } from "../../shared/actions.ts";
import { translateBuiltin } from "../../shared/translations.ts";
import type { Answer, Row } from "../../shared/operations.ts";
import { type Crumb, field, fieldsIn, may, type View, type Visit } from "../../shared/page.ts";
import { crumbsTo } from "../../shared/scope.ts";
import { RoleEffect } from "../users/role_effect.tsx";
import { roleTexts } from "./texts.ts";

const bodyOf = (form: FormData) => ({
  ...fieldsIn(form, "name", "description"),
  permissionIds: form.getAll("permissionIds").map(String),
});

export const newRolePage = formPage({
  path: "roles/new",
  permissions: ["create:roles"],
  async show(v, sent) {
    const f = new Fields(v, sent, "createRole");
    return formView(f, {
      title: roleTexts[v.locale].newRoleIn(v.viewer.tenant?.name ?? ""),
      scripts: ["filter.js"],
      submit: roleTexts[v.locale].create,
      stacked: true,
      inputs: <RoleFields f={f} held={[]} catalog={await readCatalog(v)} />,
    });
  },
  send: sendTo(
    "createRole",
    bodyOf,
    (v, { id, name, tenantName }) => done(`roles/${id}`, roleTexts[v.locale].wasCreated(name, tenantName)),
  ),
});

/** The form of an existing role. For a built-in role, a notice that it cannot be changed. */
export const editRolePage = formPage({
  path: "roles/{id}/edit",
  permissions: ["update:roles"],
  restarts: true,
  async show(v, sent) {
    const t = roleTexts[v.locale];
    const { value: role, etag } = await v.api.versioned("readRole", { params: v.params });
    const [grants, catalog] = await Promise.all([readGrants(v, role.id), readCatalog(v)]);
    const held = grants.map(({ id }) => id);
    const f = new Fields(v, sent, "createRole", { ...role, permissionIds: held, etag });
    const head = { title: t.edit, crumbs: roleCrumbs(v, role), scripts: ["filter.js"] };
    if (role.isSystemRole) return { ...head, body: <Notice tone="info">{t.builtinNote}</Notice> };
    const inputs = <RoleFields f={f} held={held} catalog={catalog} />;
    return formView(f, { ...head, stacked: true, inputs });
  },
  async send(v, form) {
    const { params } = v;
    const { permissionIds } = bodyOf(form);
    if (!isReviewed(form)) {
      const preview = await v.api.call("previewRole", { params, body: { permissionIds } });
      if (preview.affectedCount > 0 || preview.sessionCount > 0) return reviewView(v, form, preview);
    }
    await v.api.call("updateRole", { params, body: bodyOf(form), ifMatch: field(form, "etag") });
    return done(`roles/${params.id}`, roleTexts[v.locale].saved);
  },
});

/** @param held permissions the role already has: they stay selectable even if the viewer does not hold them */
function RoleFields({ f, held, catalog }: { f: Fields; held: string[]; catalog: Category[] }) {
  const { viewer, locale } = f.v;
  const t = roleTexts[locale];
  const ticked = f.ticked("permissionIds");
  const mayGive = ({ id, code }: { id: string; code: string }) =>
    held.includes(id) || viewer.permissions.has(code) || may(viewer, "admin:system");
  return (
    <>
      <Card>
        <div class="form">
          {f.text("name", t.name)}
          {f.text("description", t.description)}
        </div>
      </Card>
      <Card title={t.permissions}>
        <p class="hint">{t.permissionsHint}</p>
        <div class="field" data-filter-bar hidden>
          <label for="permission-filter">{t.filterPermissions}</label>
          <input
            id="permission-filter"
            type="search"
            maxlength={SEARCH_LENGTH}
            autocomplete="off"
            aria-describedby="permission-filter-count"
            data-filter=".permission-set .check"
            data-count={t.filterCount}
          />
          <div class="hint" id="permission-filter-count" role="status"></div>
        </div>
        <div class="grid-3">
          {catalog.map(({ category, permissions }) => (
            <fieldset class="permission-set" data-filter-group>
              <legend>{category}</legend>
              {permissions.map((permission) => (
                <CheckField
                  id={`p-${permission.id}`}
                  name="permissionIds"
                  value={permission.id}
                  label={<code>{permission.code}</code>}
                  checked={ticked.has(permission.id)}
                  disabled={!mayGive(permission)}
                  hint={[permission.description, !mayGive(permission) && <div>{t.notYours}</div>]}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </Card>
    </>
  );
}

type Preview = Answer<"previewRole">;

const REVIEWED = "reviewed";

/** True if the viewer has seen whom the change affects: the review sends the form again with this field. */
const isReviewed = (form: FormData): boolean => field(form, REVIEWED) === "true";

/** Shows whom a changed role affects before it is saved. The button that saves names the number of users. */
function reviewView(v: Visit, form: FormData, preview: Preview): View {
  const t = roleTexts[v.locale];
  const { affectedCount } = preview;
  const back = `roles/${v.params.id}`;
  const name = field(form, "name");
  const kept = [...form].filter(([key, value]) => key !== "csrf" && typeof value === "string");
  return {
    title: t.review(name),
    crumbs: roleCrumbs(v, { id: v.params.id ?? "", name }),
    body: [
      <RoleEffect v={v} preview={preview} />,
      <form method="post" action={`${back}/edit`} class="row">
        <CsrfField v={v} />
        {kept.map(([key, value]) => <input type="hidden" name={key} value={String(value)} />)}
        <input type="hidden" name={REVIEWED} value="true" />
        <button type="submit" class="button primary">
          {affectedCount > 0 ? t.saveFor(affectedCount) : t.save}
        </button>
        {buttonLink(`${back}/edit`, t.cancel)}
      </form>,
    ],
  };
}

export type Role = Row<"listRoles">;
export type Category = Row<"readPermissionCatalog">;

/** All permissions of the tenant, by category, in the viewer's language. */
export async function readCatalog(v: Visit): Promise<Category[]> {
  const categories: Category[] = [];
  for (let page = 1; page <= 10; page++) {
    const { items, hasNext } = await v.api.call("readPermissionCatalog", { query: { page, pageSize: 100 } });
    categories.push(...items);
    if (!hasNext) break;
  }
  return categories.map(({ category, permissions, ...counts }) => ({
    ...counts,
    category: translateBuiltin(v.locale, category),
    permissions: permissions.map((each) => ({
      ...each,
      description: translateBuiltin(v.locale, each.description),
    })),
  }));
}

/** The permissions that a role gives. */
export async function readGrants(v: Visit, id: string): Promise<Row<"listRoleGrants">["permissions"]> {
  const { items: [role] } = await v.api.call("listRoleGrants", { query: { ids: [id] } });
  if (!role) throw problem("ROLE_NOT_FOUND", `There is no role ${id} in this tenant.`);
  return role.permissions;
}

/** Label "built-in" or "custom". */
export function RoleOrigin({ v, role }: { v: Visit; role: Pick<Role, "isSystemRole"> }) {
  const t = roleTexts[v.locale];
  return role.isSystemRole ? <Badge tone="idle">{t.builtin}</Badge> : <Badge tone="info">{t.custom}</Badge>;
}

/** The breadcrumb of the pages of a role below the first. */
const roleCrumbs = (v: Visit, { id, name }: Pick<Role, "id" | "name">): Crumb[] =>
  crumbsTo(v, { href: `roles/${id}`, label: name });
