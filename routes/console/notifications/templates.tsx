import type { z } from "zod";
import type { NotificationTemplateListItem } from "../../notifications/shapes.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { templateTexts } from "./template_texts.ts";

type Template = z.output<typeof NotificationTemplateListItem>;

/** The tenant's templates and the built-in ones, by slug and locale. */
export async function templatesPage(v: Visit): Promise<View> {
  const t = templateTexts[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Template>>("notification-templates", {
    search: given("search"),
    locale: given("locale"),
    includeShipped: given("own") !== "true",
    page: given("page"),
  });
  return {
    title: t.title,
    actions: <ButtonLink href="templates/new" label={t.newTemplate} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="templates" target="templates-list">
          <TextField label={t.search} name="search" type="search" value={given("search")} />
          <TextField label={t.locale} name="locale" value={given("locale")} maxlength={35} />
          <SelectField
            label={t.show}
            name="own"
            any={commonTexts[v.locale].all}
            value={given("own")}
            choices={[{ value: "true", label: t.customOnly }]}
          />
        </FilterBar>
        <LivePart v={v} id="templates-list">
          <DataTable
            caption={t.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="templates" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="templates" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Template>[] {
  const t = templateTexts[v.locale];
  return [
    {
      head: t.template,
      cell: ({ id, slug, name, isShipped }) => (
        <>
          <a href={`templates/${id}`}>{name}</a> {isShipped && <Badge tone="idle">{t.builtin}</Badge>}
          <span class="sub">
            <code>{slug}</code>
          </span>
        </>
      ),
    },
    { head: t.locale, cell: ({ locale }) => <code>{locale}</code> },
    { head: t.version, align: "end", cell: ({ version }) => version },
    { head: t.changed, cell: ({ updatedAt }) => <Time v={v} at={updatedAt} /> },
  ];
}
