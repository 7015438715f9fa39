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
import { Badge, CopyValue, type Fact, factList, number, shortId, Time } from "../components/values.tsx";
import { action, actionsOf, done, formPage, sendTo, type Sent } from "../shared/actions.ts";
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
      ...healthColumns(v),
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

/** The state of an endpoint, the share of attempts that succeeded in the last day, and the last error. */
function healthColumns(v: Visit): Column<Endpoint>[] {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  return [
    {
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
    },
    {
      head: w.successRate,
      cell: ({ lastDay: { successRate } }) =>
        successRate === null
          ? <span class="muted">{w.noAttempt}</span>
          : `${number(v, Math.floor(successRate * 1000) / 10)} %`,
      below: [[
        t.attempts,
        ({ lastDay: { delivered, failed } }) => {
          const all = delivered + failed;
          return v.collect ? all : all > 0 && w.attemptsOf(number(v, delivered), number(v, all));
        },
      ]],
    },
    {
      head: w.lastError,
      cell: ({ lastError }) => lastError && <span class="break">{lastError}</span>,
      below: [[t.since, ({ lastErrorAt }) => lastErrorAt && <Time v={v} at={lastErrorAt} />]],
    },
  ];
}

/** One webhook endpoint and its deliveries. */
async function webhookPage(v: Visit, sent: Sent | null = null): Promise<View> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  const [endpoint, page] = await Promise.all([
    v.api.call("readWebhookEndpoint", { params: v.params }),
    v.api.list("listWebhookDeliveries", v),
  ]);
  const names = await userNames(v, [endpoint.pausedBy, endpoint.createdBy]);
  const { id, disabledReason, isActive, pausedAt } = endpoint;
  const at = here(v);
  const f = new Fields(v, sent, "pauseWebhookEndpoint");
  return {
    title: endpoint.url,
    actions: [
      pausedAt && actionButton(v, `${at}/resume`, w.resume, { icon: "play", tone: "primary" }),
      isActive && [
        actionButton(v, `${at}/test`, t.test, { icon: "play" }),
        buttonLink(`webhook-deliveries/redeliver?endpointId=${id}`, w.retryFailed, { icon: "retry" }),
      ],
      buttonLink(`webhook-deliveries?endpointId=${id}`, t.deliveriesByPeriod, { icon: "search" }),
      buttonLink(`${at}/edit`, t.edit, { icon: "settings" }),
      actionButton(v, `${at}/secret`, t.newSecret, { icon: "keys", confirm: t.newSecretConfirm }),
      deleteButton(v, `${at}/delete`, t.removeConfirm),
    ],
    body: [
      disabledReason && <Notice tone="bad">{disabledReason === "Gone" ? t.gone : t.gaveUp}</Notice>,
      <PausedNotice v={v} endpoint={endpoint} names={names} />,
      <Card>
        {factList([
          ...healthColumns(v).map((column): Fact => [column.head, cellOf(column, endpoint)]),
          [t.events, <EventTypes v={v} types={endpoint.eventTypes} />],
          [t.description, endpoint.description],
          endpoint.ordered && [t.ordered, t.yes],
          [w.createdBy, endpoint.createdBy && <Person v={v} names={names} id={endpoint.createdBy} />],
          [t.created, <Time v={v} at={endpoint.createdAt} />],
          [t.updated, <Time v={v} at={endpoint.updatedAt} />],
          [t.id, <CopyValue v={v} value={id} shown={shortId(id)} />],
        ])}
      </Card>,
      !pausedAt && (
        <Card>
          <FoldedForm
            fields={f}
            label={w.pauseTitle}
            action={`${at}/pause`}
            intro={w.pauseText}
            submit={w.pause}
          >
            {f.text("reason", w.reason, { hint: w.pauseReasonHint })}
          </FoldedForm>
        </Card>
      ),
      <h2>{t.deliveries}</h2>,
      list(v, page, {
        caption: t.deliveriesCaption,
        empty: [t.noDeliveries, t.noDeliveriesText],
        filters: [statusFilter(v)],
        everySeconds: 5,
        columns: [
          ...deliveryColumns(v),
          actionsColumn(
            v,
            ({ id, status }) =>
              status !== "Pending" && isActive &&
              actionButton(v, `${at}/deliveries/${id}`, t.redeliver, {
                confirm: t.redeliverConfirm(endpoint.url),
              }),
          ),
        ],
      }),
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

/** Shows the secret of an endpoint. It is not shown again. */
function showSecret(v: Visit, title: string, id: string, secret: string, more?: Child): View {
  const { secret: label, backToWebhook } = integrationTexts[v.locale];
  return shownOnce(v, { title, secret, label, back: { href: `webhooks/${id}`, label: backToWebhook }, more });
}

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
      show: (v, sent) => webhookPage({ ...v, address: here(v) }, sent),
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
    const { secretCreated, oldSecret } = integrationTexts[v.locale];
    return showSecret(
      v,
      secretCreated,
      v.params.id ?? "",
      secret,
      <p class="muted">{oldSecret(oldSecretHours)}</p>,
    );
  }),
  ...actionsOf("webhooks/{id}", integrationTexts, {
    test: ["testWebhookEndpoint", "tested"],
    delete: ["deleteWebhookEndpoint", "removed", "webhooks"],
    "deliveries/{deliveryId}": ["redeliverWebhook", "redelivered"],
  }),
];
