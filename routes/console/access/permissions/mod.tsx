import { done, formPage, sendTo, type Sent } from "../../shared/actions.ts";
import { type ConsolePage, fieldsIn, may, type View, type Visit } from "../../shared/page.ts";
import { importPages } from "./import.tsx";
import { permissionTexts } from "./texts.ts";
import { actionButton, buttonLink } from "../../components/forms.tsx";
import { actionsColumn, choice, list, search } from "../../components/list.tsx";
import { type Column, dataTable } from "../../components/table.tsx";
import { Badge, number } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/translations.ts";
import type { Row } from "../../shared/operations.ts";
import { Fields, formView } from "../../components/fields.tsx";
import { DEFAULT_ROLES } from "../../../../domain/access/roles/default_roles.ts";

const newPermissionPage = formPage({
  path: "permissions/new",
  permissions: ["create:permissions"],
  show: (v, sent) => permissionForm(v, sent, null),
  send: sendTo(
    "createPermission",
    (form) => fieldsIn(form, "code", "description", "category"),
    (v, { code }) => done("permissions", permissionTexts[v.locale].wasCreated(code)),
  ),
});

/** The form of an existing permission. The code cannot be changed. */
const editPermissionPage = formPage({
  path: "permissions/{id}",
  permissions: ["update:permissions"],
  restarts: true,
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readPermission", { params: v.params });
    return await permissionForm(v, sent, { ...value, etag });
  },
  send: sendTo(
    "updatePermission",
    (form) => fieldsIn(form, "description", "category"),
    (v) => done("permissions", permissionTexts[v.locale].saved),
  ),
});

/** @param stored the existing permission; null for a new one */
async function permissionForm(
  v: Visit,
  sent: Sent | null,
  stored: { id: string; code: string; etag: string } | null,
): Promise<View> {
  const t = permissionTexts[v.locale];
  const { items } = await v.api.call("suggestCategories", { query: { limit: 50 } });
  const f = new Fields(v, sent, "createPermission", { ...stored });
  return formView(f, {
    title: stored ? t.editOf(stored.code) : t.newPermission,
    submit: stored ? undefined : t.create,
    inputs: [
      !stored && f.text("code", t.code, { hint: t.codeHint }),
      f.text("category", t.category, { suggestions: items.map(({ category }) => category) }),
      f.text("description", t.description),
    ],
  });
}

/** The catalog roles that have a permission in every tenant. */
const defaultRolesPage = formPage({
  path: "permissions/{id}/default-roles",
  permissions: ["admin:system"],
  restarts: true,
  async show(v, sent) {
    const t = permissionTexts[v.locale];
    const { value, etag } = await v.api.versioned("readPermission", { params: v.params });
    const f = new Fields(v, sent, "setDefaultRoles", { roles: value.defaultRoles, etag });
    return formView(f, {
      title: t.defaultRolesOf(value.code),
      intro: t.defaultRolesIntro,
      inputs: (
        <fieldset>
          <legend>{t.defaultRoles}</legend>
          {f.choices("roles", DEFAULT_ROLES.map((value) => ({ value, label: value })))}
        </fieldset>
      ),
    });
  },
  send: sendTo(
    "setDefaultRoles",
    (form) => ({ roles: form.getAll("roles").map(String) }),
    (v, { code }) => done("permissions", permissionTexts[v.locale].defaultRolesSaved(code)),
  ),
});

type Permission = Row<"readPermissionCatalog">["permissions"][number];

/** The tenant's permissions, by category. */
async function permissionsPage(v: Visit): Promise<View> {
  const t = permissionTexts[v.locale];
  const [page, { items }] = await Promise.all([
    v.api.list("readPermissionCatalog", v),
    v.api.call("suggestCategories", { query: { limit: 50 } }),
  ]);
  const categories = items.map(({ category }) => ({
    value: category,
    label: translateBuiltin(v.locale, category),
  })).sort((a, b) => a.label.localeCompare(b.label, v.locale));
  const permissions = page.items.flatMap(({ permissions }) => permissions);
  const columns = columnsOf(v);
  return {
    title: t.permissions,
    actions: may(v.viewer, "create:permissions") && [
      buttonLink("permissions/import", t.importShort, { icon: "upload" }),
      buttonLink("permissions/new", t.newPermission, { icon: "plus", tone: "primary" }),
    ],
    body: list(v, { ...page, items: permissions }, {
      caption: t.caption,
      empty: [t.empty, t.emptyText],
      filters: [
        search(t.search),
        choice("category", t.category, categories),
        choice("reach", t.scope, { Tenant: t.Tenant, Platform: t.allTenants }),
        choice("isSystem", t.origin, { true: t.builtin, false: t.custom }),
      ],
      // The columns of CSV.
      columns: [
        { head: t.category, cell: ({ category }) => translateBuiltin(v.locale, category) },
        ...columns,
      ],
      // One table for all categories, so that the columns align.
      show: (rows) =>
        dataTable(t.caption, rows, null, columns, undefined, {
          groupOf: ({ category }) => category,
          heading: (category) => translateBuiltin(v.locale, category),
        }),
    }),
  };
}

/**
 * True if the viewer may change the permission. Nobody may change a built-in one; only system administrators may change
 * one that all tenants share.
 */
const isChangeable = (v: Visit, { isSystem, tenantId }: Permission): boolean =>
  !isSystem && (tenantId === v.viewer.tenant?.id || (tenantId === null && may(v.viewer, "admin:system")));

/** True if the viewer may choose the roles that have the permission in every tenant. */
const hasDefaultRoles = (v: Visit, { reach, tenantId }: Permission): boolean =>
  reach === "Tenant" && tenantId === null && may(v.viewer, "admin:system");

function columnsOf(v: Visit): Column<Permission>[] {
  const t = permissionTexts[v.locale];
  const actions = actionsColumn<Permission>(v, (permission) => [
    hasDefaultRoles(v, permission) &&
    buttonLink(`permissions/${permission.id}/default-roles`, t.defaultRoles),
    isChangeable(v, permission) && (
      <span class="row end">
        {may(v.viewer, "update:permissions") && buttonLink(`permissions/${permission.id}`, t.edit)}
        {may(v.viewer, "delete:permissions") &&
          actionButton(v, `permissions/${permission.id}/delete`, t.remove, {
            tone: "danger",
            confirm: t.deleteConfirm(permission.code),
          })}
      </span>
    ),
  ]);
  return [
    {
      head: t.code,
      cell: ({ code }) => <code>{code}</code>,
      below: [[t.description, ({ description }) => translateBuiltin(v.locale, description)]],
    },
    {
      head: t.origin,
      cell: ({ isSystem, reach }) => (
        <span class="row">
          <Badge tone={isSystem ? "idle" : "info"}>{isSystem ? t.builtin : t.custom}</Badge>
          {reach === "Platform" && <Badge tone="warn">{t.allTenants}</Badge>}
        </span>
      ),
      csv: ({ isSystem }) => isSystem ? t.builtin : t.custom,
    },
    {
      head: t.roles,
      align: "end",
      cell: ({ roleCount }) => number(v, roleCount),
      below: [[t.defaultRoles, ({ defaultRoles }) => defaultRoles.join(", ")]],
    },
    ...may(v.viewer, "update:permissions") || may(v.viewer, "delete:permissions") ? [actions] : [],
  ];
}

export const permissionsPages: ConsolePage[] = [
  { path: "permissions", permissions: ["read:permissions"], get: permissionsPage },
  newPermissionPage,
  ...importPages,
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
