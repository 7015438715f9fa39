import { Card, Empty } from "../../components/notice.tsx";
import { Icon } from "../../components/icons.tsx";
import type { View, Visit } from "../../shared/page.ts";
import { readCatalog, roleCrumbs } from "./model.tsx";
import { roleTexts } from "./texts.ts";

const MAX_ROLES = 30;

/** A matrix of the tenant's permissions and roles. */
export async function matrixPage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const [catalog, roles] = await Promise.all([
    readCatalog(v),
    v.api.call("listRoleGrants", { query: { pageSize: MAX_ROLES } }),
  ]);
  const grants = roles.items.map(({ permissions }) => new Set(permissions.map(({ id }) => id)));
  return {
    title: t.matrix,
    crumbs: roleCrumbs(v),
    body: (
      <Card>
        <p class="hint">
          {t.matrixHint} {roles.hasNext && t.matrixMore(roles.items.length, roles.totalCount)}
        </p>
        {roles.items.length === 0
          ? <Empty icon="roles" title={t.empty}>{t.emptyText}</Empty>
          : (
            <div class="table-scroll tall" tabindex={0} role="region" aria-label={t.matrixCaption}>
              <table class="data keep matrix-table">
                <caption class="sr-only">{t.matrixCaption}</caption>
                <thead>
                  <tr>
                    <th scope="col">{t.permissions}</th>
                    {roles.items.map(({ id, name }) => (
                      <th scope="col" class="turned">
                        <a href={`roles/${id}`}>{name}</a>
                      </th>
                    ))}
                  </tr>
                </thead>
                {catalog.map(({ category, permissions }) => (
                  <tbody>
                    <tr>
                      <th scope="rowgroup" colspan={roles.items.length + 1} class="group">{category}</th>
                    </tr>
                    {permissions.map(({ id, code, description }) => (
                      <tr>
                        <th scope="row" title={description ?? undefined}>
                          <code>{code}</code>
                        </th>
                        {roles.items.map((role, at) => (
                          <Mark
                            held={grants[at]?.has(id) ?? false}
                            label={grants[at]?.has(id)
                              ? t.gives(role.name, code)
                              : t.givesNot(role.name, code)}
                          />
                        ))}
                      </tr>
                    ))}
                  </tbody>
                ))}
              </table>
            </div>
          )}
      </Card>
    ),
  };
}

const Mark = ({ held, label }: { held: boolean; label: string }) => (
  <td class={held ? "mark held" : "mark"} title={label}>
    {held ? <Icon name="check" /> : <span aria-hidden="true">·</span>}
    <span class="sr-only">{label}</span>
  </td>
);
