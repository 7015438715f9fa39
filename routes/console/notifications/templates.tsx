import { buttonLink } from "../components/forms.tsx";
import { choice, list, search, tenantColumn, text, timeColumn } from "../components/list.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import { everywhere, inTenantOf } from "../shared/scope.ts";
import { Badge } from "../components/values.tsx";
import type { View, Visit } from "../shared/page.ts";
import { kindChoices } from "./edited.ts";
import { templateTexts, versionTexts } from "./template_texts.ts";

/** The tenant's templates and the built-in ones, by slug and locale. */
export async function templatesPage(v: Visit): Promise<View> {
  const t = templateTexts[v.locale];
  const kinds = kindChoices(v);
  const query = { includeShipped: v.query.get("own") !== "true", ...everywhere(v) };
  const page = await v.api.list("listNotificationTemplates", v, query);
  const names = query.everywhere ? await tenantNames(v, page.items.map(({ tenantId }) => tenantId)) : null;
  // Every tenant shows the service's own templates.
  const pageOf = (tenantId: string | null, end: string) =>
    tenantId === null ? `templates/${end}` : inTenantOf(v, tenantId, `templates/${end}`);
  const body = list(v, page, {
    path: "templates",
    icon: "templates",
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [
      search(t.search),
      text("locale", t.locale, { maxlength: 35 }),
      choice("kind", t.kind, kinds),
      choice("own", t.show, { true: t.customOnly }),
    ],
    columns: [
      {
        head: t.template,
        cell: ({ id, name, tenantId }) => <a href={pageOf(tenantId, id)}>{name}</a>,
        below: [
          [t.slug, ({ slug }) => <code>{slug}</code>],
          [t.origin, ({ isShipped }) => isShipped && <Badge tone="idle">{t.builtin}</Badge>],
        ],
      },
      ...tenantColumn<typeof page.items[number]>(t, names),
      {
        head: t.kind,
        cell: ({ kind }) => <span class="nowrap">{kinds.find(({ value }) => value === kind)?.label}</span>,
      },
      { head: t.locale, cell: ({ locale }) => <code>{locale}</code> },
      {
        head: t.version,
        align: "end",
        cell: ({ id, version, tenantId }) => (
          <a class="nowrap" href={pageOf(tenantId, `${id}/versions`)}>
            {versionTexts[v.locale].versionOf(version)}
          </a>
        ),
      },
      timeColumn(v, t.changed, "updatedAt"),
    ],
  });
  return {
    title: t.title,
    actions: buttonLink("templates/new", t.newTemplate, { icon: "plus", tone: "primary" }),
    body,
  };
}
