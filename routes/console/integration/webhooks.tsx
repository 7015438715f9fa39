import { buttonLink } from "../components/forms.tsx";
import { choice, linkColumn, listView, search, timeColumn } from "../components/list.tsx";
import type { Column } from "../components/table.tsx";
import { Badge, number, Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts, webhookTexts } from "./texts.ts";

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
      linkColumn(t.url, ({ id, url }) => [`webhooks/${id}`, url], {
        sort: "url",
        below: [[t.description, ({ description }) => description]],
      }),
      { head: t.events, cell: ({ eventTypes }) => <EventTypes v={v} types={eventTypes} /> },
      statusColumn(v),
      rateColumn(v),
      errorColumn(v),
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
export function rateColumn(v: Visit): Column<Endpoint> {
  const w = webhookTexts[v.locale];
  return {
    head: w.successRate,
    cell: ({ lastDay: { successRate } }) =>
      successRate === null
        ? <span class="muted">{w.noAttempt}</span>
        : `${number(v, Math.floor(successRate * 1000) / 10)} %`,
    below: [[
      integrationTexts[v.locale].attempts,
      ({ lastDay: { delivered, failed } }) => {
        const all = delivered + failed;
        return v.collect ? all : all > 0 && w.attemptsOf(number(v, delivered), number(v, all));
      },
    ]],
  };
}

/** Paused, active, inactive, or failing since a time. */
export function statusColumn(v: Visit): Column<Endpoint> {
  const t = integrationTexts[v.locale];
  return {
    head: t.status,
    cell({ isActive, disabledReason, pausedAt, failingSince }) {
      if (!isActive) return <Badge tone={disabledReason ? "bad" : "idle"}>{t.inactive}</Badge>;
      if (pausedAt) return <Badge tone="warn">{webhookTexts[v.locale].paused}</Badge>;
      return failingSince ? <Badge tone="warn">{t.failing}</Badge> : <Badge tone="ok">{t.active}</Badge>;
    },
    below: [[
      t.since,
      ({ isActive, pausedAt, failingSince }) =>
        isActive && !pausedAt && failingSince && <Time v={v} at={failingSince} />,
    ]],
  };
}

/** The reason and the time of the last failed attempt. */
export function errorColumn(v: Visit): Column<Endpoint> {
  return {
    head: webhookTexts[v.locale].lastError,
    cell: ({ lastError }) => lastError && <span class="break">{lastError}</span>,
    below: [[
      integrationTexts[v.locale].since,
      ({ lastErrorAt }) => lastErrorAt && <Time v={v} at={lastErrorAt} />,
    ]],
  };
}
