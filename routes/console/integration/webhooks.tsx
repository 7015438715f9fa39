import type { z } from "zod";
import type { webhookEndpoints } from "../../../domain/events/endpoints.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

export type Endpoint = z.output<typeof webhookEndpoints["result"]>;

/** The tenant's webhook endpoints. */
export async function webhooksPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Endpoint>>("webhook-endpoints", {
    isActive: given("isActive"),
    search: given("search"),
    sortBy: given("sortBy"),
    sortDirection: given("sortDirection"),
    page: given("page"),
  });
  return {
    title: t.webhooks,
    actions: <ButtonLink href="webhooks/new" label={t.newWebhook} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="webhooks" target="webhooks-list">
          <TextField label={t.search} name="search" type="search" value={given("search")} />
          <SelectField
            label={t.status}
            name="isActive"
            any={commonTexts[v.locale].all}
            value={given("isActive")}
            choices={[{ value: "true", label: t.active }, { value: "false", label: t.inactive }]}
          />
        </FilterBar>
        <LivePart v={v} id="webhooks-list">
          <DataTable
            caption={t.webhooksCaption}
            columns={columns(v)}
            rows={page.items}
            sorting={{ v, path: "webhooks" }}
            empty={<EmptyList v={v} icon="webhooks" text={t.noWebhooks}>{t.noWebhooksText}</EmptyList>}
          />
          <Pager v={v} path="webhooks" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Endpoint>[] {
  const t = integrationTexts[v.locale];
  return [
    {
      head: t.url,
      sort: "url",
      cell: ({ id, url, description }) => (
        <>
          <a href={`webhooks/${id}`}>{url}</a>
          {description && <span class="sub">{description}</span>}
        </>
      ),
    },
    { head: t.events, cell: ({ eventTypes }) => <EventTypes v={v} types={eventTypes} /> },
    { head: t.status, cell: (row) => <EndpointStatus v={v} row={row} /> },
    {
      head: t.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}

/** The event types that an endpoint receives. */
export const EventTypes = ({ v, types }: { v: Visit; types: string[] }) =>
  types.includes("*") ? <>{integrationTexts[v.locale].allEvents}</> : (
    <span class="row">
      {types.map((type) => <code>{type}</code>)}
    </span>
  );

/** Active, inactive, or failing since a time. */
export function EndpointStatus({ v, row }: { v: Visit; row: Endpoint }) {
  const t = integrationTexts[v.locale];
  if (!row.isActive) return <Badge tone={row.disabledReason ? "bad" : "idle"}>{t.inactive}</Badge>;
  if (!row.failingSince) return <Badge tone="ok">{t.active}</Badge>;
  return (
    <>
      <Badge tone="warn">{t.failing}</Badge> <Time v={v} at={row.failingSince} />
    </>
  );
}
