import { actionButton } from "../components/forms.tsx";
import { choice, listView, timeColumn } from "../components/list.tsx";
import { Badge, Time } from "../components/values.tsx";
import { done } from "../shared/actions.ts";
import { priorityLabels, sectionTexts } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsoleSection, navItem, type View, type Visit } from "../shared/page.ts";

const inboxTexts = sectionTexts({
  title: ["Inbox", "Caixa de entrada"],
  caption: ["Your messages, newest first", "Suas mensagens, as mais recentes primeiro"],
  readAll: ["Mark all as read", "Marcar todas como lidas"],
  markRead: ["Mark as read", "Marcar como lida"],
  deleteConfirm: ["Delete this message?", "Excluir esta mensagem?"],
  deleted: ["The message was deleted.", "A mensagem foi excluída."],
  allRead: counted(
    ["message was marked as read.", "messages were marked as read."],
    ["mensagem foi marcada como lida.", "mensagens foram marcadas como lidas."],
  ),
  unreadOnly: ["Unread only", "Só não lidas"],
  unread: ["unread", "não lidas"],
  open: ["Open", "Abrir"],
  empty: ["No messages", "Sem mensagens"],
  emptyText: ["New messages to you appear here.", "As novas mensagens para você aparecem aqui."],
});

type Message = Row<"listUserNotifications">;

/** The viewer's messages, newest first. */
async function inboxPage(v: Visit): Promise<View> {
  const t = inboxTexts[v.locale];
  return await listView(v, "listUserNotifications", {
    title: t.title,
    actions: actionButton(v, "inbox/read-all", t.readAll, { icon: "check" }),
    query: ownOf(v),
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [choice("isRead", t.show, { false: t.unreadOnly })],
    everySeconds: 30,
    show: (messages) => (
      <ul class="messages" aria-label={t.caption}>
        {messages.map((message) => (
          <li>
            <MessageCard v={v} message={message} />
          </li>
        ))}
      </ul>
    ),
    columns: [
      { head: t.subject, cell: ({ title }) => title },
      { head: t.body, cell: ({ body }) => body },
      { head: t.category, cell: ({ category }) => category },
      timeColumn(v, t.created, "createdAt"),
    ],
  });
}

function MessageCard({ v, message }: { v: Visit; message: Message }) {
  const t = inboxTexts[v.locale];
  const { id, title, body, category, actionUrl, priority, isRead, createdAt } = message;
  return (
    <article class={`card message${isRead ? "" : " unread"}`}>
      <div class="card-head">
        <h2>{title}</h2>
        <span class="row">
          {!isRead && <Badge tone="info">{t.unread}</Badge>}
          {category && <Badge tone="idle">{category}</Badge>}
          {priority === "Critical" && <Badge tone="bad">{priorityLabels[v.locale][priority]}</Badge>}
          <Time v={v} at={createdAt} />
        </span>
      </div>
      <p class="break pre-line">{body}</p>
      <div class="row">
        {actionUrl && safeLink(actionUrl) && <a class="button small" href={actionUrl}>{t.open}</a>}
        {!isRead && actionButton(v, `inbox/${id}/read`, t.markRead)}
        {actionButton(v, `inbox/${id}/delete`, t.remove, { tone: "danger", confirm: t.deleteConfirm })}
      </div>
    </article>
  );
}

/** The sender chooses the link, so only http and https URLs become clickable. */
const safeLink = (url: string): boolean => /^https?:\/\//i.test(url);

/** Server-sent events `unread`: the unread count now, and again after every new message. */
async function streamUnread(v: Visit): Promise<Response> {
  const { userId } = v.viewer;
  const query = { userId };
  const arrivals = await v.api.answer("streamUserNotifications", { query, signal: v.signal });
  const unread = async () => {
    const count = await v.api.call("countUnreadUserNotifications", { query });
    return `event: unread\ndata: ${count}\n\n`;
  };
  const body = (arrivals.body ?? new ReadableStream<Uint8Array>())
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(
      new TransformStream<string, string>({
        start: async (out) => out.enqueue(await unread()),
        // Other chunks are keep-alives. They are passed on so that proxies keep the connection open.
        transform: async (chunk, out) =>
          out.enqueue(chunk.includes("event: notification") ? await unread() : ": alive\n\n"),
      }),
    )
    .pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
  });
}

/** The viewer's own in-app messages. */
export const inboxSection: ConsoleSection = {
  area: "notifications",
  nav: [navItem(inboxTexts, "title", { path: "inbox", icon: "bell" })],
  pages: [
    { path: "inbox", get: inboxPage },
    { path: "inbox/stream", get: streamUnread },
    {
      path: "inbox/read-all",
      async post(v) {
        const { updated } = await v.api.call("markAllUserNotificationsRead", { query: ownOf(v) });
        return done("inbox", inboxTexts[v.locale].allRead(updated));
      },
    },
    {
      path: "inbox/{id}/read",
      async post(v) {
        await v.api.call("markUserNotificationRead", { params: v.params, query: ownOf(v) });
        return { goTo: "inbox" };
      },
    },
    {
      path: "inbox/{id}/delete",
      async post(v) {
        await v.api.call("deleteUserNotification", { params: v.params, query: ownOf(v) });
        return done("inbox", inboxTexts[v.locale].deleted);
      },
    },
  ],
};

const ownOf = ({ viewer: { userId } }: Visit) => ({ userId });
