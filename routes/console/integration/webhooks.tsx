import { ButtonLink } from "../components/forms.tsx";
import { choice, listView, search, timeColumn } from "../components/list.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

/** The tenant's webhook endpoints. */
export async function webhooksPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  return await listView(v, "listWebhookEndpoints", {
    path: "webhooks",
    icon: "webhooks",
    title: t.webhooks,
    actions: <ButtonLink href="webhooks/new" label={t.newWebhook} icon="plus" tone="primary" />,
    caption: t.webhooksCaption,
    empty: [t.noWebhooks, t.noWebhooksText],
    filters: [search(t.search), choice("isActive", t.status, { true: t.active, false: t.inactive })],
    columns: [
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
      timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
    ],
  });
}

/** The event types that an endpoint receives. */
export const EventTypes = ({ v, types }: { v: Visit; types: string[] }) =>
  types.includes("*") ? <>{integrationTexts[v.locale].allEvents}</> : (
    <span class="row">
      {types.map((type) => <code>{type}</code>)}
    </span>
  );

/** Active, inactive, or failing since a time. */
export function EndpointStatus({ v, row }: { v: Visit; row: Row<"listWebhookEndpoints"> }) {
  const t = integrationTexts[v.locale];
  if (!row.isActive) return <Badge tone={row.disabledReason ? "bad" : "idle"}>{t.inactive}</Badge>;
  if (!row.failingSince) return <Badge tone="ok">{t.active}</Badge>;
  return (
    <>
      <Badge tone="warn">{t.failing}</Badge> <Time v={v} at={row.failingSince} />
    </>
  );
}
