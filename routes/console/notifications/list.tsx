import type { z } from "zod";
import type { NotificationStatsDto } from "../../notifications/shapes.ts";
import { ButtonLink, CsrfField, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { instantOf } from "../components/date_inputs.ts";
import { type Column, DataTable, EmptyList, LivePart, Pager, RowCheck } from "../components/table.tsx";
import { Figure, number, Time } from "../components/values.tsx";
import { type Page, Refusal, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Outcome, View, Visit } from "../shared/page.ts";
import {
  channelChoices,
  channelLabel,
  isCancellable,
  isRetriable,
  notificationPriorityLabels,
  notificationStatusLabels,
  StatusBadge,
  statusChoices,
  type Summary,
} from "./status.tsx";
import { notificationTexts } from "./texts.ts";

type Stats = z.output<typeof NotificationStatsDto>;

const BULK = "messages-bulk";

/** The tenant's messages, newest first, filtered by the query. */
export async function listPage(v: Visit): Promise<View> {
  const t = notificationTexts[v.locale];
  const all = commonTexts[v.locale].all;
  const given = (name: string) => v.query.get(name) ?? "";
  const dates = {
    fromDate: instantOf(v, given("from")),
    toDate: instantOf(v, given("to"), true),
  };
  const [page, stats] = await Promise.all([
    v.api.get<Page<Summary>>("notifications", {
      ...dates,
      channel: given("channel"),
      status: given("status"),
      page: given("page"),
    }),
    v.api.get<Stats>("notifications/stats", dates),
  ]);
  return {
    title: t.title,
    actions: <ButtonLink href="notifications/send" label={t.send} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="notifications" target="messages-list">
          <SelectField
            label={t.channel}
            name="channel"
            any={all}
            value={given("channel")}
            choices={channelChoices(v.locale)}
          />
          <SelectField
            label={t.status}
            name="status"
            any={all}
            value={given("status")}
            choices={statusChoices(v.locale)}
          />
          <TextField label={t.from} name="from" type="date" value={given("from")} />
          <TextField label={t.to} name="to" type="date" value={given("to")} />
        </FilterBar>
        <LivePart v={v} id="messages-list" everySeconds={5}>
          <StatusFigures v={v} stats={stats} />
          {page.items.some(isSelectable) && <BulkActions v={v} />}
          <DataTable
            caption={t.caption}
            columns={columns(v, page.items.some(isSelectable))}
            rows={page.items}
            empty={<EmptyList v={v} icon="notifications" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="notifications" page={page} />
        </LivePart>
      </>
    ),
  };
}

function StatusFigures({ v, stats }: { v: Visit; stats: Stats }) {
  const t = notificationTexts[v.locale];
  const names = notificationStatusLabels[v.locale];
  const to = (status: string) =>
    `notifications${searchOf({ ...Object.fromEntries(v.query), page: null, status })}`;
  const figure = (status: keyof typeof names, count: number, tone?: "ok" | "warn" | "bad") => (
    <Figure
      label={names[status]}
      value={number(v, count)}
      href={to(status)}
      {...tone && count > 0 ? { tone } : {}}
    />
  );
  return (
    <div class="figures" role="group" aria-label={t.figures}>
      <Figure label={t.total} value={number(v, stats.totalNotifications)} href={to("")} />
      {figure("Sent", stats.sentNotifications)}
      {figure("Queued", stats.queuedNotifications)}
      {figure("Scheduled", stats.scheduledNotifications)}
      {figure("Pending", stats.pendingNotifications)}
      {figure("Failed", stats.failedNotifications, "warn")}
      {figure("DeadLettered", stats.deadLetteredNotifications, "bad")}
    </div>
  );
}

/** Actions on the selected rows. */
function BulkActions({ v }: { v: Visit }) {
  const t = notificationTexts[v.locale];
  return (
    <form id={BULK} class="row" method="post" action="notifications/chosen">
      <CsrfField v={v} />
      <input type="hidden" name="back" value={v.address} />
      <label class="row">
        <input type="checkbox" data-check-all />
        {t.selectAll}
      </label>
      <button type="submit" class="button small" name="do" value="retry">{t.retrySelected}</button>
      <button
        type="submit"
        class="button small danger"
        name="do"
        value="cancel"
        data-confirm={t.cancelSelectedConfirm}
      >
        {t.cancelSelected}
      </button>
    </form>
  );
}

const isSelectable = (message: Summary): boolean => isRetriable(message) || isCancellable(message);

function columns(v: Visit, hasChoices: boolean): Column<Summary>[] {
  const t = notificationTexts[v.locale];
  const name = ({ subject }: Summary) => subject || t.noSubject;
  return [
    {
      head: t.message,
      cell: (message) => (
        <span class={hasChoices ? "row-choice" : undefined}>
          {isSelectable(message)
            ? <RowCheck form={BULK} value={message.id} label={t.select(name(message))} />
            : hasChoices && <span></span>}
          <span>
            <a class="clamp" href={`notifications/${message.id}`}>{name(message)}</a>
            <span class="sub">
              {channelLabel(v.locale, message.channel)}
              {message.priority !== "Normal" &&
                ` · ${t.priority}: ${notificationPriorityLabels[v.locale][message.priority]}`}
            </span>
          </span>
        </span>
      ),
    },
    {
      head: t.status,
      cell: ({ status, scheduledAt }) => (
        <>
          <StatusBadge locale={v.locale} status={status} />
          {status === "Scheduled" && scheduledAt && (
            <span class="sub">
              <Time v={v} at={scheduledAt} />
            </span>
          )}
        </>
      ),
    },
    { head: t.recipients, align: "end", cell: ({ recipientCount }) => number(v, recipientCount) },
    { head: t.retries, align: "end", cell: ({ retryCount }) => number(v, retryCount), wideOnly: true },
    { head: t.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    { head: t.sent, cell: ({ sentAt }) => <Time v={v} at={sentAt} />, wideOnly: true },
  ];
}

/** Retries or cancels the selected messages one by one. The flash message counts successes and errors. */
export async function actOnSelected(v: Visit, form: FormData): Promise<Outcome> {
  const t = notificationTexts[v.locale];
  const ids = form.getAll("id").map(String);
  const isRetry = form.get("do") === "retry";
  const refusals: Refusal[] = [];
  for (const id of ids) {
    try {
      if (isRetry) await v.api.send("POST", `notifications/${encodeURIComponent(id)}/retry`);
      else await v.api.send("DELETE", `notifications/schedule/${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusals.push(error);
    }
  }
  const back = String(form.get("back") ?? "");
  const goTo = /^notifications(\?[^#\\]*)?$/.test(back) ? back : "notifications";
  const [first] = refusals;
  const done = ids.length - refusals.length;
  if (ids.length === 0) return { goTo, flash: { tone: "bad", text: t.nothingSelected } };
  return first
    ? { goTo, flash: { tone: "bad", text: t.bulkRefused(done, refusals.length, first.text) } }
    : { goTo, flash: { tone: "ok", text: t.bulkDone(done) } };
}
