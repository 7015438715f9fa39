import { periodOf } from "../components/date_inputs.ts";
import { buttonLink } from "../components/forms.tsx";
import { choice, hidden, list, period, search, tenantColumn, text, timeColumn } from "../components/list.tsx";
import { deliveryJob } from "../../../domain/notifications/delivery/deliver.ts";
import { PauseBanner, PauseButton } from "../jobs/pauses.tsx";
import { Statistic, StatisticRow } from "../components/statistics.tsx";
import { Person, userNames } from "../components/user_names.tsx";
import { number, Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import { everywhere, inTenantOf, isOwnRow, reachOf } from "../shared/scope.ts";
import type { Answer } from "../shared/operations.ts";
import { isOpen, rowActions, type View, type Visit } from "../shared/page.ts";
import {
  channelChoices,
  channelLabel,
  deliveryStates,
  holdsSending,
  isCancellable,
  isRetriable,
  messageStates,
  type Summary,
} from "./status.tsx";
import { notificationTexts } from "./texts.ts";
import { priorityLabels } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";

type Stats = Answer<"readNotificationStats">;

/** The filters of the list that its figures have too. */
const STATISTICS_FILTERS = [
  "channel",
  "recipient",
  "deliveryState",
  "userId",
  "templateSlug",
  "category",
  "tenantId",
] as const;

/** The messages of the scope, newest first, filtered by the query. */
export async function listPage(v: Visit): Promise<View> {
  const t = notificationTexts[v.locale];
  const [page, pauses, stats] = await Promise.all([
    v.api.list("listNotifications", v, { ...periodOf(v), ...everywhere(v) }),
    isOpen(v, "job-types") ? v.api.call("listJobPauses") : null,
    v.api.call("readNotificationStats", {
      query: {
        ...Object.fromEntries(
          STATISTICS_FILTERS.map((name) => [name, v.query.get(name)?.trim() || undefined]),
        ),
        ...periodOf(v),
        ...everywhere(v),
      },
    }),
  ]);
  // The recipient of an in-app message is the id of a user.
  const people = await userNames(
    v,
    page.items.map(({ channel, recipient }) => channel === "InApp" ? recipient : null),
  );
  const name = ({ subject }: Summary) => subject || t.noSubject;
  return {
    title: t.title,
    actions: [
      pauses && !pauses.some(holdsSending) &&
      (
        <PauseButton
          v={v}
          kind="type"
          name={deliveryJob.name}
          pause={null}
          label={t.pauseSending(reachOf(v))}
        />
      ),
      buttonLink("notifications/send", t.send, { icon: "plus", tone: "primary" }),
    ],
    body: list(v, page, {
      caption: t.caption,
      empty: [t.empty, t.emptyText],
      top: pauses && <PauseBanner v={v} fits={holdsSending} />,
      filters: [
        choice("channel", t.channel, channelChoices(v.locale)),
        choice("status", t.status, messageStates.choices(v)),
        search(t.recipient, "recipient"),
        choice("deliveryState", t.reported, deliveryStates.choices(v)),
        hidden("userId"),
        text("templateSlug", t.template),
        text("category", t.category),
        ...period(t),
      ],
      everySeconds: 5,
      above: <StatusStatistics v={v} stats={stats} />,
      bulk: messageActions,
      columns: [
        {
          head: t.message,
          cell: (message) => (
            <a class="clamp" href={inTenantOf(v, message.tenantId, `notifications/${message.id}`)}>
              {name(message)}
            </a>
          ),
          below: [
            [t.channel, ({ channel }) => channelLabel(v.locale, channel)],
            [
              t.priority,
              ({ priority }) => (v.collect || priority !== "Normal") && priorityLabels[v.locale][priority],
            ],
          ],
        },
        ...await tenantColumn(v, page.items),
        {
          head: t.status,
          cell: ({ status }) => messageStates.badge(v, status),
          below: [
            [t.reported, ({ deliveryState }) => deliveryState && deliveryStates.badge(v, deliveryState)],
            [
              t.scheduledFor,
              ({ status, scheduledAt }) =>
                status === "Scheduled" && scheduledAt && <Time v={v} at={scheduledAt} />,
            ],
          ],
        },
        {
          head: t.recipient,
          cell: ({ channel, recipient, recipientCount }) =>
            channel === "InApp" && recipient
              ? <Person v={v} names={people} id={recipient} />
              : <span class="break">{recipient ?? number(v, recipientCount)}</span>,
          csv: ({ recipient }) => recipient ?? "",
          below: [[
            t.recipients,
            ({ recipient, recipientCount }) =>
              v.collect
                ? number(v, recipientCount)
                : recipient && recipientCount > 1 && t.moreRecipients(number(v, recipientCount - 1)),
          ]],
        },
        { head: t.retries, align: "end", cell: ({ retryCount }) => number(v, retryCount), wideOnly: true },
        timeColumn(v, t.created, "createdAt"),
        timeColumn(v, t.sent, "sentAt", { wideOnly: true }),
      ],
    }),
  };
}

function StatusStatistics({ v, stats }: { v: Visit; stats: Stats }) {
  const t = notificationTexts[v.locale];
  const names = messageStates.labels[v.locale];
  const to = (status: string) =>
    `notifications${searchOf({ ...Object.fromEntries(v.query), page: null, status })}`;
  const statistic = (status: keyof typeof names, count: number, tone?: "ok" | "warn" | "bad") => (
    <Statistic
      label={names[status]}
      value={number(v, count)}
      href={to(status)}
      {...tone && count > 0 ? { tone } : {}}
    />
  );
  return (
    <StatisticRow label={t.statistics}>
      <Statistic label={t.total} value={number(v, stats.totalNotifications)} href={to("")} />
      {statistic("Sent", stats.sentNotifications)}
      {statistic("Queued", stats.queuedNotifications)}
      {statistic("Scheduled", stats.scheduledNotifications)}
      {statistic("Pending", stats.pendingNotifications)}
      {statistic("Failed", stats.failedNotifications, "warn")}
      {statistic("DeadLettered", stats.deadLetteredNotifications, "bad")}
    </StatisticRow>
  );
}

export const messageActions = rowActions<Summary>({
  retry: {
    label: ["Send again", "Enviar de novo"],
    question: counted(
      ["message: send it again?", "messages: send them again?"],
      ["mensagem: enviar de novo?", "mensagens: enviar de novo?"],
    ),
    fits: (message, v) => isRetriable(message) && isOwnRow(v, message),
    run: (v, id) => v.api.call("retryNotification", { params: { id } }),
  },
  cancel: {
    label: ["Cancel messages", "Cancelar mensagens"],
    question: counted(
      ["scheduled message: cancel it?", "scheduled messages: cancel them?"],
      ["mensagem agendada: cancelar?", "mensagens agendadas: cancelar?"],
    ),
    tone: "danger",
    fits: (message, v) => isCancellable(message) && isOwnRow(v, message),
    run: (v, id) => v.api.call("cancelScheduledNotification", { params: { id } }),
  },
});
