import type { Child } from "hono/jsx";
import { Fields, FoldedForm, formView } from "../components/fields.tsx";
import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import {
  actionsColumn,
  choice,
  linkColumn,
  list,
  listView,
  search,
  timeColumn,
} from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { cellOf, type Column } from "../components/table.tsx";
import { Person, userNames } from "../components/user_names.tsx";
import { Badge, CopyValue, factList, number, shortId, Time } from "../components/values.tsx";
import { action, actionsOf, done, formPage, sendTo, type Sent } from "../shared/actions.ts";
import type { Page } from "../shared/api.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import { deliveryColumns, statusFilter } from "./deliveries.tsx";
import { shownOnce } from "./shown_once.tsx";
import { integrationTexts, webhookTexts } from "./texts.ts";

type Endpoint = Row<"listWebhookEndpoints">;

/** The tenant's webhook endpoints. */
async function webhooksPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  const yesNo = { true: t.yes, false: t.no };
  return await listView(v, "listWebhookEndpoints", {
    path: "webhooks",
    icon: "webhooks",
    title: t.webhooks,
    actions: [
      buttonLink("alert-rules", w.alertRules),
      buttonLink("webhooks/new", t.newWebhook, { icon: "plus", tone: "primary" }),
    ],
    caption: t.webhooksCaption,
    empty: [t.noWebhooks, t.noWebhooksText],
    filters: [
      search(t.search),
      choice("isActive", t.status, { true: w.active, false: w.inactive }),
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

const EventTypes = ({ v, types }: { v: Visit; types: string[] }) =>
  types.includes("*") ? <>{integrationTexts[v.locale].allEvents}</> : (
    <span class="row">
      {types.map((type) => <code>{type}</code>)}
    </span>
  );

/** The share of attempts that succeeded in the last day, with their number. */
function rateColumn(v: Visit): Column<Endpoint> {
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
function statusColumn(v: Visit): Column<Endpoint> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  return {
    head: t.status,
    cell({ isActive, disabledReason, pausedAt, failingSince }) {
      if (!isActive) return <Badge tone={disabledReason ? "bad" : "idle"}>{w.inactive}</Badge>;
      if (pausedAt) return <Badge tone="warn">{w.paused}</Badge>;
      return failingSince ? <Badge tone="warn">{w.failing}</Badge> : <Badge tone="ok">{w.active}</Badge>;
    },
    below: [[
      t.since,
      ({ isActive, pausedAt, failingSince }) =>
        isActive && !pausedAt && failingSince && <Time v={v} at={failingSince} />,
    ]],
  };
}

/** The reason and the time of the last failed attempt. */
function errorColumn(v: Visit): Column<Endpoint> {
  return {
    head: webhookTexts[v.locale].lastError,
    cell: ({ lastError }) => lastError && <span class="break">{lastError}</span>,
    below: [[
      integrationTexts[v.locale].since,
      ({ lastErrorAt }) => lastErrorAt && <Time v={v} at={lastErrorAt} />,
    ]],
  };
}

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
  const f = new Fields(v, sent, "pauseWebhookEndpoint");
  return {
    title: endpoint.url,
    actions: <EndpointActions v={v} endpoint={endpoint} here={here} />,
    body: [
      disabledReason && <Notice tone="bad">{disabledReason === "Gone" ? t.gone : t.gaveUp}</Notice>,
      <PausedNotice v={v} endpoint={endpoint} names={names} />,
      <Card>
        {factList([
          ...[statusColumn(v), rateColumn(v), errorColumn(v)].map((column): [string, Child] => [
            column.head,
            cellOf(column, endpoint),
          ]),
          [t.events, <EventTypes v={v} types={endpoint.eventTypes} />],
          [t.description, endpoint.description],
          endpoint.ordered && [t.ordered, t.yes],
          [w.createdBy, endpoint.createdBy && <Person v={v} names={names} id={endpoint.createdBy} />],
          [t.created, <Time v={v} at={endpoint.createdAt} />],
          [t.updated, <Time v={v} at={endpoint.updatedAt} />],
          [t.id, <CopyValue v={v} value={endpoint.id} shown={shortId(endpoint.id)} />],
        ])}
      </Card>,
      !endpoint.pausedAt && (
        <Card>
          <FoldedForm
            fields={f}
            label={w.pauseTitle}
            action={`${here}/pause`}
            intro={w.pauseText}
            submit={w.pause}
          >
            {f.text("reason", w.reason, { hint: w.pauseReasonHint })}
          </FoldedForm>
        </Card>
      ),
      <h2>{t.deliveries}</h2>,
      deliveryList(v, endpoint, page),
    ],
  };
}

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
    filters: [statusFilter(v)],
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
      {buttonLink(`webhook-deliveries?endpointId=${endpoint.id}`, t.deliveriesByPeriod, { icon: "search" })}
      {buttonLink(`${here}/edit`, t.edit, { icon: "settings" })}
      {actionButton(v, secret, t.newSecret, { icon: "keys", confirm: t.newSecretConfirm })}
      {deleteButton(v, `${here}/delete`, t.removeConfirm, { label: t.remove })}
    </>
  );
}

/** Shows the secret of an endpoint. It is not shown again. */
const showSecret = (v: Visit, title: string, id: string | undefined, secret: string, more?: Child) => {
  const t = integrationTexts[v.locale];
  return shownOnce(v, {
    title,
    secret,
    label: t.secret,
    back: { href: `webhooks/${id}`, label: t.backToWebhook },
    more,
  });
};

const bodyOf = (form: FormData) => ({
  url: field(form, "url"),
  description: field(form, "description") || null,
  eventTypes: form.getAll("eventTypes").map(String),
  isActive: form.get("isActive") === "true",
  ordered: form.get("ordered") === "true",
});

const newWebhookPage = formPage({
  path: "webhooks/new",
  show: (v, sent) => webhookForm(v, sent, { eventTypes: ["*"], isActive: true }),
  send: sendTo(
    "createWebhookEndpoint",
    bodyOf,
    (v, { id, secret = "" }) => showSecret(v, integrationTexts[v.locale].endpointCreated, id, secret),
  ),
});

const editWebhookPage = formPage({
  path: "webhooks/{id}/edit",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readWebhookEndpoint", { params: v.params });
    return await webhookForm(v, sent, { ...value, etag });
  },
  send: sendTo("updateWebhookEndpoint", bodyOf, (v) => done(here(v), integrationTexts[v.locale].saved)),
});

async function webhookForm(v: Visit, sent: Sent | null, values: Record<string, unknown>): Promise<View> {
  const t = integrationTexts[v.locale];
  const { id } = v.params;
  const types = await v.api.call("listEventTypes");
  const f = new Fields(v, sent, "createWebhookEndpoint", values);
  const errors = f.errorsOf("eventTypes");
  return formView(f, {
    title: id ? t.edit : t.newWebhook,
    crumbs: id ? crumbsTo(v, { href: here(v), label: String(values.url) }) : undefined,
    submit: id ? undefined : t.create,
    stacked: true,
    inputs: [
      <Card>
        {f.text("url", t.url, { type: "url", hint: t.urlHint })}
        {f.text("description", t.description)}
        {f.check("isActive", t.isActive)}
        {f.check("ordered", t.ordered, t.orderedHint)}
      </Card>,
      <Card>
        <fieldset class="plain">
          <legend>{t.events}</legend>
          {errors && <p class="error">{errors.join(" ")}</p>}
          {f.choices("eventTypes", [{ value: "*", label: t.allEvents }])}
          <div class="grid-3">
            {f.choices(
              "eventTypes",
              types.map(({ type, description }) => ({ value: type, hint: description })),
            )}
          </div>
        </fieldset>
      </Card>,
    ],
  });
}

const here = (v: Visit) => `webhooks/${v.params.id}`;

/** The webhook endpoints of the tenant: their list, their pages and actions. */
export const webhookPages: ConsolePage[] = [
  { path: "webhooks", get: webhooksPage },
  newWebhookPage,
  { path: "webhooks/{id}", get: (v) => webhookPage(v) },
  editWebhookPage,
  {
    ...formPage({
      path: "webhooks/{id}/pause",
      show: webhookPage,
      send: sendTo(
        "pauseWebhookEndpoint",
        (form) => ({ reason: optionalField(form, "reason") }),
        (v) => done(here(v), webhookTexts[v.locale].pausedNow),
      ),
    }),
    get: (v) => ({ goTo: here(v) }),
  },
  ...actionsOf("webhooks/{id}", webhookTexts, { resume: ["resumeWebhookEndpoint", "resumedNow"] }),
  action("webhooks/{id}/secret", "rotateWebhookSecret", (v, { secret, oldSecretHours }) => {
    const t = integrationTexts[v.locale];
    return showSecret(
      v,
      t.secretCreated,
      v.params.id,
      secret,
      <p class="muted">{t.oldSecret(oldSecretHours)}</p>,
    );
  }),
  ...actionsOf("webhooks/{id}", integrationTexts, {
    test: ["testWebhookEndpoint", "tested"],
    delete: ["deleteWebhookEndpoint", "removed", "webhooks"],
    "deliveries/{deliveryId}": ["redeliverWebhook", "redelivered"],
  }),
];
