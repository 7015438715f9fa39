import { DELIVERY_STATUSES } from "../../../domain/events/deliveries.ts";
import { MAX_REDELIVERED } from "../../../domain/events/redeliver_failed.ts";
import { periodOf } from "../components/date_inputs.ts";
import { Fields, formView } from "../components/fields.tsx";
import { buttonLink, isCountTyped, TypedCount } from "../components/forms.tsx";
import { choice, list, period, tenantColumn, text, timeColumn } from "../components/list.tsx";
import { Notice } from "../components/notice.tsx";
import { defineStates } from "../components/states.tsx";
import type { Column } from "../components/table.tsx";
import { CodeBlock, duration, factList, JsonText, number, Time } from "../components/values.tsx";
import { done, formPage } from "../shared/actions.ts";
import { refusedInput, searchOf } from "../shared/api.ts";
import { listTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import { field, optionalField, type View, type Visit } from "../shared/page.ts";
import { inTenantOf, reachOf } from "../shared/scope.ts";
import { integrationTexts, webhookTexts } from "./texts.ts";

type Delivery = Row<"listWebhookDeliveries">;

const deliveryStates = defineStates<Delivery["status"]>({
  Pending: ["info", "Pending", "Pendente"],
  Delivered: ["ok", "Delivered", "Entregue"],
  Failed: ["bad", "Failed", "Falhou"],
});

export const statusFilter = (v: Visit) =>
  choice("status", integrationTexts[v.locale].status, deliveryStates.choices(v, DELIVERY_STATUSES));

/** The deliveries of all endpoints in the scope. The failed ones that match the filters can be sent again together. */
export async function deliveriesPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const w = webhookTexts[v.locale];
  const { fromDate: from, toDate: to } = periodOf(v);
  const page = await v.api.list("listAllWebhookDeliveries", v, { from, to });
  const { status, ...filters } = Object.fromEntries(v.query);
  return {
    title: t.deliveries,
    body: list(v, page, {
      caption: t.deliveriesCaption,
      empty: [t.noDeliveries, t.noDeliveriesText],
      filters: [statusFilter(v), text("endpointId", w.endpointId), ...period(w)],
      everySeconds: 15,
      above: page.totalCount > 0 && (!status || status === "Failed") && (
        <div>
          {buttonLink(`webhook-deliveries/redeliver${searchOf({ ...filters, page: null })}`, w.retryFailed, {
            icon: "retry",
          })}
        </div>
      ),
      columns: [
        ...deliveryColumns(v, [
          ...await tenantColumn(v, page.items),
          {
            head: t.url,
            cell: ({ endpointId, endpointUrl, tenantId }) => (
              <a class="clamp" href={inTenantOf(v, tenantId, `webhooks/${endpointId}`)}>{endpointUrl}</a>
            ),
            onPhone: true,
          },
        ]),
        timeColumn(v, w.ended, "completedAt", { wideOnly: true }),
      ],
    }),
  };
}

/** The columns of a table of deliveries. @param endpoint those that say where a delivery goes */
export function deliveryColumns<D extends Delivery>(v: Visit, endpoint: Column<D>[] = []): Column<D>[] {
  const t = integrationTexts[v.locale];
  return [
    {
      head: t.event,
      cell: (delivery) => [
        <code>{delivery.eventType}</code>,
        <details>
          <summary>{t.details}</summary>
          <DeliveryDetails v={v} delivery={delivery} />
        </details>,
      ],
      csv: ({ eventType }) => eventType,
    },
    ...endpoint,
    {
      head: t.status,
      cell: ({ status }) => deliveryStates.badge(v, status),
      below: [[
        t.next,
        ({ nextAttemptAt }) =>
          nextAttemptAt && [
            !v.collect && `${t.next}: `,
            <Time v={v} at={nextAttemptAt} />,
          ],
      ]],
    },
    { head: t.lastResponse, cell: ({ attempts: [last] }) => last && (last.statusCode ?? t.noResponse) },
    { head: t.attempts, align: "end", cell: ({ attemptCount }) => number(v, attemptCount) },
    timeColumn(v, t.created, "createdAt"),
  ];
}

function DeliveryDetails({ v, delivery: { id, body, attempts } }: { v: Visit; delivery: Delivery }) {
  const t = integrationTexts[v.locale];
  return (
    <div class="stack">
      <JsonText value={body} label={`${t.body}: ${id}`} />
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
                <CodeBlock label={`${t.response}: ${id}, ${attempt.number}`}>{attempt.answer}</CodeBlock>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Counts the failed deliveries of a period or an endpoint, and sends them again. */
export const redeliverPage = formPage({
  path: "webhook-deliveries/redeliver",
  actsInScope: true,
  async show(v, sent) {
    const t = webhookTexts[v.locale];
    const { fromDate, toDate = v.now.toISOString() } = periodOf(v);
    const selection = sent?.form
      ? selectionIn(sent.form)
      : { endpointId: v.query.get("endpointId") || undefined, from: fromDate, to: toDate };
    const { matched } = await v.api.call("redeliverAllFailedWebhooks", {
      body: { ...selection, dryRun: true },
    });
    const { endpointId, from, to } = selection;
    if (matched === 0) {
      return { title: t.retryFailed, body: <Notice tone="info">{t.noneFailed}</Notice> };
    }
    const most = matched === MAX_REDELIVERED ? ` ${t.failedMost(number(v, matched))}` : "";
    return formView(new Fields(v, sent, null), {
      title: t.retryFailed,
      submit: t.retryThese(matched),
      intro: `${t.retryEffect(matched, reachOf(v))}${most} ${t.sameIds}`,
      inputs: [
        factList([
          endpointId && [t.endpointId, <code>{endpointId}</code>],
          from && [t.from, <Time v={v} at={from} />],
          [t.to, <Time v={v} at={to} />],
        ]),
        ...Object.entries({ ...selection, matched }).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        )),
        <TypedCount v={v} count={matched} />,
      ],
    });
  },
  async send(v, form) {
    const t = webhookTexts[v.locale];
    const counted = Number(field(form, "matched"));
    if (!isCountTyped(form, counted)) throw refusedInput("typed", listTexts[v.locale].typedOther(counted));
    const { matched, redelivered, jobId } = await v.api.call("redeliverAllFailedWebhooks", {
      body: selectionIn(form),
    });
    const text = jobId === null ? t.retriedMany(redelivered) : t.retriedByJob(matched);
    return done("webhook-deliveries", text);
  },
});

const selectionIn = (form: FormData) => ({
  endpointId: optionalField(form, "endpointId"),
  from: optionalField(form, "from"),
  to: optionalField(form, "to"),
});
