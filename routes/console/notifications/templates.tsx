import type { z } from "zod";
import type { NotificationTemplateListItem } from "../../notifications/shapes.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { shared } from "../shared/console_words.ts";
import type { View, Visit } from "../shared/page.ts";
import { templateWords } from "./template_words.ts";

type Template = z.output<typeof NotificationTemplateListItem>;

/** The tenant's templates and those the service ships, by slug and locale. */
export async function templatesPage(v: Visit): Promise<View> {
  const w = templateWords[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Template>>("notification-templates", {
    search: given("search"),
    locale: given("locale"),
    includeShipped: given("own") !== "true",
    page: given("page"),
  });
  return {
    title: w.title,
    actions: <ButtonLink href="templates/new" label={w.newTemplate} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="templates" target="templates-list">
          <TextField label={w.search} name="search" type="search" value={given("search")} />
          <TextField label={w.locale} name="locale" value={given("locale")} maxlength={35} />
          <SelectField
            label={w.shown}
            name="own"
            any={shared[v.locale].all}
            value={given("own")}
            choices={[{ value: "true", label: w.ownOnly }]}
          />
        </FilterBar>
        <LivePart v={v} id="templates-list">
          <DataTable
            caption={w.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="templates" text={w.empty}>{w.emptyText}</EmptyList>}
          />
          <Pager v={v} path="templates" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Template>[] {
  const w = templateWords[v.locale];
  return [
    {
      head: w.template,
      cell: ({ id, slug, name, isShipped }) => (
        <>
          <a href={`templates/${id}`}>{name}</a> {isShipped && <Badge tone="idle">{w.shipped}</Badge>}
          <span class="sub">
            <code>{slug}</code>
          </span>
        </>
      ),
    },
    { head: w.locale, cell: ({ locale }) => <code>{locale}</code> },
    { head: w.version, align: "end", cell: ({ version }) => version },
    { head: w.changed, cell: ({ updatedAt }) => <Time v={v} at={updatedAt} /> },
  ];
}
