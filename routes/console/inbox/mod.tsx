import { actionButton, FilterBar } from "../components/forms.tsx";
import { choice } from "../components/list.tsx";
import { EmptyList, LivePart, Pager } from "../components/table.tsx";
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
  const page = await v.api.list("listUserNotifications", v, { userId: v.viewer.userId });
  return {
    title: t.title,
    actions: actionButton(v, "inbox/read-all", t.readAll, { icon: "check" }),
    body: [
      <FilterBar v={v} action="inbox" target="messages">
        {choice("isRead", t.show, { false: t.unreadOnly })(v)}
      </FilterBar>,
      <LivePart v={v} id="messages" everySeconds={30}>
        {page.items.length === 0 && <EmptyList v={v} text={t.empty}>{t.emptyText}</EmptyList>}
        <ul class="messages" aria-label={t.caption}>
          {page.items.map((message) => (
            <li>
              <MessageCard v={v} message={message} />
            </li>
          ))}
        </ul>
        <Pager v={v} path="inbox" page={page} />
      </LivePart>,
    ],
  };
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
