import type { Child } from "hono/jsx";
import { Fields, Form } from "../components/fields.tsx";
import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import { actionsColumn, list } from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { cellOf } from "../components/table.tsx";
import { CopyValue, factList, shortId, Time } from "../components/values.tsx";
import { actionsOf, done, formPage, type Sent } from "../shared/actions.ts";
import type { Page } from "../shared/api.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { type ConsolePage, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { Person, userNames } from "../components/user_names.tsx";
import { shownOnce } from "./shown_once.tsx";
import { deliveryColumns, statusFilter } from "./deliveries.tsx";
import { integrationTexts, webhookTexts } from "./texts.ts";
import { errorColumn, EventTypes, rateColumn, statusColumn } from "./webhooks.tsx";

type Delivery = Row<"listWebhookDeliveries">;

/** One webhook endpoint and its deliveries. */
async function webhookPage(v: Visit, sent: Sent | null = null): Promise<View> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  const [endpoint, page] = await Promise.all([
    v.api.call("readWebhookEndpoint", { params: v.params }),
    v.api.list("listWebhookDeliveries", v),
  ]);
  const names = await userNames(v, [endpoint.pausedBy, endpoint.createdBy]);
  const here = `webhooks/${endpoint.id}`;
  const { disabledReason } = endpoint;
  return {
    title: endpoint.url,
    crumbs: [{ href: "webhooks", label: t.webhooks }],
    actions: <EndpointActions v={v} endpoint={endpoint} here={here} />,
    body: (
      <>
        {disabledReason && <Notice tone="bad">{disabledReason === "Gone" ? t.gone : t.gaveUp}</Notice>}
        <PausedNotice v={v} endpoint={endpoint} names={names} />
        <Card>
          {factList([
            ...[statusColumn(v), rateColumn(v), errorColumn(v)].map((column): [string, Child] => [
              column.head,
              cellOf(column, endpoint),
            ]),
            [t.events, <EventTypes v={v} types={endpoint.eventTypes} />],
            [t.description, endpoint.description],
            [
              w.createdBy,
              endpoint.createdBy && <Person v={v} names={names} id={endpoint.createdBy} />,
            ],
            [t.created, <Time v={v} at={endpoint.createdAt} />],
            [t.updated, <Time v={v} at={endpoint.updatedAt} />],
            [t.id, <CopyValue v={v} value={endpoint.id} shown={shortId(endpoint.id)} />],
          ])}
        </Card>
        {!endpoint.pausedAt && <PauseCard v={v} sent={sent} here={here} />}
        <h2>{t.deliveries}</h2>
        {deliveryList(v, endpoint, page)}
      </>
    ),
  };
}

type Endpoint = Answer<"readWebhookEndpoint">;

function PausedNotice({ v, endpoint, names }: { v: Visit; endpoint: Endpoint; names: Map<string, string> }) {
  const { pausedAt, pausedBy, pauseReason } = endpoint;
  const w = webhookTexts[v.locale];
  return pausedAt && (
    <Notice tone="warn" title={w.paused}>
      <Time v={v} at={pausedAt} />
      {pausedBy && (
        <>
          {" · "}
          <Person v={v} names={names} id={pausedBy} />
        </>
      )}
      {pauseReason && ` · ${pauseReason}`}
      <br />
      {w.pausedNotice}
    </Notice>
  );
}

function deliveryList(v: Visit, endpoint: Endpoint, page: Page<Delivery>) {
  const t = integrationTexts[v.locale];
  const here = `webhooks/${endpoint.id}`;
  return list(v, page, {
    path: here,
    id: "deliveries",
    icon: "webhooks",
    caption: t.deliveriesCaption,
    empty: [t.noDeliveries, t.noDeliveriesText],
    filters: [
      statusFilter(v),
    ],
    everySeconds: 5,
    columns: [
      ...deliveryColumns<Delivery>(v),
      actionsColumn(
        v,
        ({ id, status }) =>
          status !== "Pending" && endpoint.isActive &&
          actionButton(v, `${here}/deliveries/${id}`, t.redeliver, {
            confirm: t.redeliverConfirm(endpoint.url),
          }),
      ),
    ],
  });
}

function EndpointActions({ v, endpoint, here }: { v: Visit; endpoint: Endpoint; here: string }) {
  const t = integrationTexts[v.locale];
  const secret = `${here}/secret`;
  return (
    <>
      {endpoint.pausedAt &&
        actionButton(v, `${here}/resume`, webhookTexts[v.locale].resume, { icon: "play", tone: "primary" })}
      {endpoint.isActive && actionButton(v, `${here}/test`, t.test, { icon: "play" })}
      {endpoint.isActive &&
        buttonLink(
          `webhook-deliveries/redeliver?endpointId=${endpoint.id}`,
          webhookTexts[v.locale].retryFailed,
          { icon: "retry" },
        )}
      {buttonLink(`${here}/edit`, t.edit, { icon: "settings" })}
      {actionButton(v, secret, t.newSecret, { icon: "keys", confirm: t.newSecretConfirm })}
      {deleteButton(v, `${here}/delete`, t.removeConfirm, { label: t.remove })}
    </>
  );
}

/** The form that pauses an endpoint. */
function PauseCard({ v, sent, here }: { v: Visit; sent: Sent | null; here: string }) {
  const t = webhookTexts[v.locale];
  const f = new Fields(v, sent, "pauseWebhookEndpoint");
  return (
    <Card>
      <details open={sent !== null}>
        <summary>{t.pauseTitle}</summary>
        <Form fields={f} action={`${here}/pause`} intro={t.pauseText} submit={t.pause}>
          {f.text("reason", t.reason, { hint: t.pauseReasonHint })}
        </Form>
      </details>
    </Card>
  );
}

/** Creates a new secret and shows it. It is not shown again. */
async function rotateSecret(v: Visit): Promise<Outcome> {
  const t = integrationTexts[v.locale];
  const { secret, oldSecretHours } = await v.api.call("rotateWebhookSecret", { params: v.params });
  return shownOnce(v, {
    title: t.secretCreated,
    crumb: { href: "webhooks", label: t.webhooks },
    secret,
    label: t.secret,
    back: { href: `webhooks/${v.params.id}`, label: t.backToWebhook },
    more: <p class="muted">{t.oldSecret(oldSecretHours)}</p>,
  });
}

const here = (v: Visit) => `webhooks/${v.params.id}`;

/** A page with one webhook endpoint, and its actions. */
export const webhookPages: ConsolePage[] = [
  { path: "webhooks/{id}", get: (v) => webhookPage(v) },
  {
    ...formPage({
      path: "webhooks/{id}/pause",
      show: webhookPage,
      async send(v, form) {
        const body = { reason: optionalField(form, "reason") };
        await v.api.call("pauseWebhookEndpoint", { params: v.params, body });
        return done(here(v), webhookTexts[v.locale].pausedNow);
      },
    }),
    get: (v) => ({ goTo: here(v) }),
  },
  ...actionsOf("webhooks/{id}", webhookTexts, { resume: ["resumeWebhookEndpoint", "resumedNow"] }),
  { path: "webhooks/{id}/secret", post: rotateSecret },
  ...actionsOf("webhooks/{id}", integrationTexts, {
    test: ["testWebhookEndpoint", "tested"],
    delete: ["deleteWebhookEndpoint", "removed", "webhooks"],
    "deliveries/{deliveryId}": ["redeliverWebhook", "redelivered"],
  }),
];
