import { buttonLink } from "../components/forms.tsx";
import { choice, linkColumn, listView, search, timeColumn } from "../components/list.tsx";
import { Badge, number, Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";
import { webhookTexts } from "./webhook_texts.ts";

type Endpoint = Row<"listWebhookEndpoints">;

/** The tenant's webhook endpoints. */
export async function webhooksPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  const { yes, no } = commonTexts[v.locale];
  const yesNo = { true: yes, false: no };
  return await listView(v, "listWebhookEndpoints", {
    path: "webhooks",
    icon: "webhooks",
    title: t.webhooks,
    actions: (
      <>
        {buttonLink("alert-rules", w.alertRules)}
        {buttonLink("webhooks/new", t.newWebhook, { icon: "plus", tone: "primary" })}
      </>
    ),
    caption: t.webhooksCaption,
    empty: [t.noWebhooks, t.noWebhooksText],
    filters: [
      search(t.search),
      choice("isActive", t.status, { true: t.active, false: t.inactive }),
      choice("isFailing", w.failing, yesNo),
      choice("isPaused", w.paused, yesNo),
    ],
    columns: [
      linkColumn(t.url, ({ id, url, description }) => [`webhooks/${id}`, url, description], { sort: "url" }),
      { head: t.events, cell: ({ eventTypes }) => <EventTypes v={v} types={eventTypes} /> },
      { head: t.status, cell: (row) => <EndpointStatus v={v} row={row} /> },
      { head: w.successRate, cell: (row) => <SuccessRate v={v} row={row} /> },
      { head: w.lastError, cell: (row) => row.lastError && <LastError v={v} row={row} /> },
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

/** The share of attempts that succeeded in the last day, with their number. */
export function SuccessRate({ v, row: { lastDay } }: { v: Visit; row: Pick<Endpoint, "lastDay"> }) {
  const t = webhookTexts[v.locale];
  const { delivered, failed, successRate } = lastDay;
  if (successRate === null) return <span class="muted">{t.noAttempt}</span>;
  return (
    <>
      {number(v, Math.floor(successRate * 1000) / 10)} %
      <span class="sub">{t.attemptsOf(number(v, delivered), number(v, delivered + failed))}</span>
    </>
  );
}

/** The reason and the time of the last failed attempt. */
export const LastError = ({ v, row }: { v: Visit; row: Pick<Endpoint, "lastError" | "lastErrorAt"> }) => (
  <>
    <span class="break">{row.lastError}</span>{" "}
    <span class="sub">
      <Time v={v} at={row.lastErrorAt} />
    </span>
  </>
);

/** Paused, active, inactive, or failing since a time. */
export function EndpointStatus({ v, row }: { v: Visit; row: Row<"listWebhookEndpoints"> }) {
  const t = integrationTexts[v.locale];
  if (!row.isActive) return <Badge tone={row.disabledReason ? "bad" : "idle"}>{t.inactive}</Badge>;
  if (row.pausedAt) return <Badge tone="warn">{webhookTexts[v.locale].paused}</Badge>;
  if (!row.failingSince) return <Badge tone="ok">{t.active}</Badge>;
  return (
    <>
      <Badge tone="warn">{t.failing}</Badge> <Time v={v} at={row.failingSince} />
    </>
  );
}
