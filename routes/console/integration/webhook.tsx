import type { z } from "zod";
import { DELIVERY_STATUSES } from "../../../domain/events/deliveries.ts";
import type { WebhookDeliveryDto } from "../../events/deliveries.ts";
import { ActionButton, ButtonLink, FilterBar, SelectField } from "../components/forms.tsx";
import { Card, Notice, type Tone } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, CopyValue, duration, Facts, JsonText, number, shortId, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Outcome, View, Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import { type Endpoint, EndpointStatus, EventTypes } from "./webhooks.tsx";
import { integrationTexts, webhookDeliveryLabels } from "./texts.ts";

type Delivery = z.output<typeof WebhookDeliveryDto>;

const TONES: Record<Delivery["status"], Tone> = { Pending: "info", Delivered: "ok", Failed: "bad" };

/** One webhook endpoint and its deliveries. */
export async function webhookPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const status = v.query.get("status");
  const path = `webhook-endpoints/${v.params.id}`;
  const [endpoint, page] = await Promise.all([
    v.api.get<Endpoint>(path),
    v.api.get<Page<Delivery>>(`${path}/deliveries`, { status, page: v.query.get("page") }),
  ]);
  const here = `webhooks/${endpoint.id}`;
  const { disabledReason } = endpoint;
  return {
    title: endpoint.url,
    crumbs: [{ href: "webhooks", label: t.webhooks }],
    actions: <EndpointActions v={v} endpoint={endpoint} here={here} />,
    body: (
      <>
        {disabledReason && <Notice tone="bad">{disabledReason === "Gone" ? t.gone : t.gaveUp}</Notice>}
        <Card>
          <Facts
            facts={[
              [t.status, <EndpointStatus v={v} row={endpoint} />],
              [t.events, <EventTypes v={v} types={endpoint.eventTypes} />],
              [t.description, endpoint.description],
              [t.created, <Time v={v} at={endpoint.createdAt} />],
              [t.updated, <Time v={v} at={endpoint.updatedAt} />],
              [t.id, <CopyValue v={v} value={endpoint.id} shown={shortId(endpoint.id)} />],
            ]}
          />
        </Card>
        <h2>{t.deliveries}</h2>
        <FilterBar v={v} action={here} target="deliveries">
          <SelectField
            label={t.status}
            name="status"
            any={commonTexts[v.locale].all}
            value={status}
            choices={DELIVERY_STATUSES.map((value) => ({
              value,
              label: webhookDeliveryLabels[v.locale][value],
            }))}
          />
        </FilterBar>
        <LivePart v={v} id="deliveries" everySeconds={5}>
          <DataTable
            caption={t.deliveriesCaption}
            columns={columns(v, endpoint)}
            rows={page.items}
            empty={<EmptyList v={v} icon="webhooks" text={t.noDeliveries}>{t.noDeliveriesText}</EmptyList>}
          />
          <Pager v={v} path={here} page={page} />
        </LivePart>
      </>
    ),
  };
}

function EndpointActions({ v, endpoint, here }: { v: Visit; endpoint: Endpoint; here: string }) {
  const t = integrationTexts[v.locale];
  return (
    <>
      {endpoint.isActive && (
        <ActionButton v={v} action={`${here}/test`} label={t.test} icon="play" tone="primary" />
      )}
      <ButtonLink href={`${here}/edit`} label={t.edit} icon="settings" />
      <ActionButton
        v={v}
        action={`${here}/secret`}
        label={t.newSecret}
        icon="keys"
        confirm={t.newSecretConfirm}
      />
      <ActionButton
        v={v}
        action={`${here}/delete`}
        label={t.remove}
        icon="trash"
        tone="danger"
        confirm={t.removeConfirm}
      />
    </>
  );
}

function columns(v: Visit, { id: endpointId, isActive }: Endpoint): Column<Delivery>[] {
  const t = integrationTexts[v.locale];
  return [
    {
      head: t.event,
      cell: (delivery) => (
        <>
          <code>{delivery.eventType}</code>
          <details>
            <summary>{t.details}</summary>
            <DeliveryDetails v={v} delivery={delivery} />
          </details>
        </>
      ),
    },
    {
      head: t.status,
      cell: ({ status, nextAttemptAt }) => (
        <>
          <Badge tone={TONES[status]}>{webhookDeliveryLabels[v.locale][status]}</Badge>
          {status === "Pending" && nextAttemptAt && (
            <span class="sub">
              {t.next}: <Time v={v} at={nextAttemptAt} />
            </span>
          )}
        </>
      ),
    },
    {
      head: t.lastResponse,
      cell: ({ attempts: [last] }) => last && (last.statusCode ?? t.noResponse),
    },
    { head: t.attempts, align: "end", cell: ({ attemptCount }) => number(v, attemptCount) },
    { head: t.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: commonTexts[v.locale].actions,
      align: "end",
      cell: ({ id, status }) =>
        status !== "Pending" && isActive && (
          <ActionButton v={v} action={`webhooks/${endpointId}/deliveries/${id}`} label={t.redeliver} />
        ),
    },
  ];
}

function DeliveryDetails({ v, delivery: { body, attempts } }: { v: Visit; delivery: Delivery }) {
  const t = integrationTexts[v.locale];
  return (
    <div class="stack">
      <JsonText value={body} label={t.body} />
      <ol class="timeline" reversed>
        {attempts.map((attempt) => {
          const isAccepted = attempt.statusCode !== null && attempt.statusCode < 300;
          return (
            <li class={`tone-${isAccepted ? "ok" : "bad"}`}>
              <strong>
                {t.attempt(attempt.number)}: {attempt.statusCode ?? t.noResponse}
              </strong>
              <span class="muted">
                {t.took(duration(v, attempt.durationMs))} · <Time v={v} at={attempt.attemptedAt} />
              </span>
              {attempt.error && <p class="break">{attempt.error}</p>}
              {attempt.answer && (
                <pre
                  class="code-block"
                  tabindex={0}
                  role="region"
                  aria-label={t.response}
                >{attempt.answer}</pre>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Creates a new secret and shows it. It is not shown again. */
export async function rotateSecret(v: Visit): Promise<Outcome> {
  const t = integrationTexts[v.locale];
  const { secret, oldSecretHours } = await v.api.send<{ secret: string; oldSecretHours: number }>(
    "POST",
    `webhook-endpoints/${v.params.id}/rotate-secret`,
  );
  return shownOnce(v, {
    title: t.secretCreated,
    crumb: { href: "webhooks", label: t.webhooks },
    secret,
    label: t.secret,
    back: { href: `webhooks/${v.params.id}`, label: t.backToWebhook },
    more: <p class="muted">{t.oldSecret(oldSecretHours)}</p>,
  });
}

export async function testWebhook(v: Visit): Promise<Outcome> {
  await v.api.send("POST", `webhook-endpoints/${v.params.id}/test`);
  return { goTo: `webhooks/${v.params.id}`, flash: { tone: "ok", text: integrationTexts[v.locale].tested } };
}

export async function redeliver(v: Visit): Promise<Outcome> {
  const { id, deliveryId } = v.params;
  await v.api.send("POST", `webhook-endpoints/${id}/deliveries/${deliveryId}/redeliver`);
  return { goTo: `webhooks/${id}`, flash: { tone: "ok", text: integrationTexts[v.locale].redelivered } };
}

export async function removeWebhook(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `webhook-endpoints/${v.params.id}`);
  return { goTo: "webhooks", flash: { tone: "ok", text: integrationTexts[v.locale].removed } };
}
