import type { z } from "zod";
import type { PermissionDetailsDto } from "../../../access/permission_shapes.ts";
import { ActionButton, ButtonLink, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Badge, number } from "../../components/values.tsx";
import type { Page } from "../../shared/api.ts";
import { shared } from "../../shared/console_words.ts";
import { inLanguage } from "../../shared/own_words.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import type { Category } from "../roles/model.tsx";
import { words } from "./words.ts";

export type Permission = z.output<typeof PermissionDetailsDto>;

const FILTERS = ["search", "category", "reach", "isSystem"] as const;

/** The permissions there are in the tenant, by category. */
export async function permissionsPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const all = shared[v.locale].all;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const [page, { items: categories }] = await Promise.all([
    v.api.get<Page<Category>>("permissions/catalog", { ...filters, page: v.query.get("page") }),
    v.api.get<{ items: { category: string }[] }>("permissions/catalog/categories", { limit: 50 }),
  ]);
  const groups = categories.map(({ category }) => ({
    value: category,
    label: inLanguage(v.locale, category),
  }))
    .sort((a, b) => a.label.localeCompare(b.label, v.locale));
  return {
    title: w.permissions,
    actions: may(v.viewer, "create:permissions") && (
      <>
        <ButtonLink href="permissions/import" label={w.importShort} icon="upload" />
        <ButtonLink href="permissions/new" label={w.newPermission} icon="plus" tone="primary" />
      </>
    ),
    body: (
      <>
        <FilterBar v={v} action="permissions" target="permissions-list">
          <TextField label={w.search} name="search" type="search" value={filters.search} />
          <SelectField
            label={w.category}
            name="category"
            any={all}
            value={filters.category}
            choices={groups}
          />
          <SelectField
            label={w.reach}
            name="reach"
            any={all}
            value={filters.reach}
            choices={[{ value: "Tenant", label: w.Tenant }, { value: "Platform", label: w.Platform }]}
          />
          <SelectField
            label={w.origin}
            name="isSystem"
            any={all}
            value={filters.isSystem}
            choices={[{ value: "true", label: w.catalog }, { value: "false", label: w.own }]}
          />
        </FilterBar>
        <LivePart v={v} id="permissions-list">
          {page.items.length === 0 && (
            <EmptyList v={v} icon="permissions" text={w.empty}>{w.emptyText}</EmptyList>
          )}
          {page.items.length > 0 && <CatalogTable v={v} categories={page.items} />}
          <Pager v={v} path="permissions" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** May the viewer change it? The service's own nobody may; the shared catalog's only who administers the service. */
const isOwn = (v: Visit, { isSystem, tenantId }: Permission): boolean =>
  !isSystem && (tenantId === v.viewer.tenant?.id || (tenantId === null && may(v.viewer, "admin:system")));

/** One table of all categories, so that its columns stand under one another. */
function CatalogTable({ v, categories }: { v: Visit; categories: Category[] }) {
  const w = words[v.locale];
  const changes = may(v.viewer, "update:permissions") || may(v.viewer, "delete:permissions");
  return (
    <div class="table-scroll" tabindex={0} role="region" aria-label={w.caption}>
      <table class="data">
        <caption class="sr-only">{w.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{w.code}</th>
            <th scope="col">{w.origin}</th>
            <th scope="col" class="end">{w.roles}</th>
            {changes && <th scope="col" class="end">{shared[v.locale].actions}</th>}
          </tr>
        </thead>
        {categories.map(({ category, permissions }) => (
          <tbody>
            <tr>
              <th scope="rowgroup" colspan={changes ? 4 : 3} class="group">
                {inLanguage(v.locale, category)}
              </th>
            </tr>
            {permissions.map((permission) => <Row v={v} permission={permission} changes={changes} />)}
          </tbody>
        ))}
      </table>
    </div>
  );
}

function Row({ v, permission, changes }: { v: Visit; permission: Permission; changes: boolean }) {
  const w = words[v.locale];
  const { code, description, isSystem, reach, roleCount } = permission;
  return (
    <tr>
      <td data-label={w.code}>
        <div class="cell">
          <code>{code}</code>
          {description && <span class="sub">{inLanguage(v.locale, description)}</span>}
        </div>
      </td>
      <td data-label={w.origin}>
        <span class="row">
          <Badge tone={isSystem ? "idle" : "info"}>{isSystem ? w.catalog : w.own}</Badge>
          {reach === "Platform" && <Badge tone="warn">{w.Platform}</Badge>}
        </span>
      </td>
      <td data-label={w.roles} class="end">{number(v, roleCount)}</td>
      {changes && (
        <td data-label={shared[v.locale].actions} class="end">
          <div class="cell">{isOwn(v, permission) && <RowActions v={v} permission={permission} />}</div>
        </td>
      )}
    </tr>
  );
}

function RowActions({ v, permission: { id, code } }: { v: Visit; permission: Permission }) {
  const s = shared[v.locale];
  return (
    <span class="row end">
      {may(v.viewer, "update:permissions") && <ButtonLink href={`permissions/${id}`} label={s.edit} />}
      {may(v.viewer, "delete:permissions") && (
        <ActionButton
          v={v}
          action={`permissions/${id}/delete`}
          label={s.remove}
          tone="danger"
          confirm={words[v.locale].deleteConfirm(code)}
        />
      )}
    </span>
  );
}
