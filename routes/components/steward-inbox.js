import { define, h, pause, StewardElement, textTable } from "./base.js";

const PAGE_SIZE = 20;
const LONGEST_PAUSE_MS = 60_000;

const texts = textTable({
  en: {
    title: "Notifications",
    unread: "Unread",
    unreadCount: (n) => `${n} unread`,
    markRead: "Mark as read",
    markAll: "Mark all as read",
    more: "Show older",
    empty: "No notifications yet.",
    arrived: (title) => `New notification: ${title}`,
  },
  "pt-BR": {
    title: "Notificações",
    unread: "Não lida",
    unreadCount: (n) => n === 1 ? "1 não lida" : `${n} não lidas`,
    markRead: "Marcar como lida",
    markAll: "Marcar todas como lidas",
    more: "Mostrar mais antigas",
    empty: "Ainda não há notificações.",
    arrived: (title) => `Nova notificação: ${title}`,
  },
});

/** The user's in-app notifications, as they arrive. */
class StewardInbox extends StewardElement {
  static texts = texts;
  static styles = `
    li { display: grid; grid-template-columns: 10px 1fr; gap: 0 10px; }
    .dot { width: 8px; height: 8px; margin-top: 7px; border-radius: 50%; background: var(--accent); }
    .text { grid-column: 2; }
    .body { white-space: pre-line; }
    li:not(.unread) h3 { font-weight: 500; }
    .more { display: block; width: 100%; border-width: 1px 0 0; border-radius: 0; min-height: 44px; }
    .more:focus-visible { outline-offset: -3px; }`;
  #query = {};
  #items = [];
  #unread = 0;
  #hasMore = false;

  async start(signal) {
    this.#items = [];
    this.#query = { userId: await this.userId() };
    await this.#load();
    this.attempt(() => this.#listen(signal));
    const shown = () => document.hidden || this.attempt(() => this.#load());
    document.addEventListener("visibilitychange", shown, { signal }); // it may have been read elsewhere
  }

  /** Reads the newest page and the count. What is older stays, unless something may be missing between. */
  async #load() {
    const query = this.#query;
    const [{ value: page }, { value: unread }] = await Promise.all([
      this.request("GET", "/user-notifications", { query: { ...query, pageSize: PAGE_SIZE } }),
      this.request("GET", "/user-notifications/unread-count", { query }),
    ]);
    const ids = new Set(page.items.map(({ id }) => id));
    const older = this.#items.filter(({ id }) => !ids.has(id));
    const isJoined = older.length < this.#items.length;
    this.#items = isJoined ? [...page.items, ...older] : page.items;
    this.#hasMore = this.#items.length < page.totalCount;
    this.#count(unread);
  }

  async #loadOlder() {
    const query = {
      ...this.#query,
      page: Math.floor(this.#items.length / PAGE_SIZE) + 1,
      pageSize: PAGE_SIZE,
    };
    const { value: { items, hasNext } } = await this.request("GET", "/user-notifications", { query });
    const known = new Set(this.#items.map(({ id }) => id));
    const older = items.filter(({ id }) => !known.has(id));
    this.#items = [...this.#items, ...older];
    this.#hasMore = hasNext;
  }

  /** Receives what arrives. A ticket opens one connection; what arrives between two is read when the next is open. */
  async #listen(signal) {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const { value: { ticket } } = await this.request("POST", "/user-notifications/stream-ticket");
        const source = new EventSource(this.url("/user-notifications/stream", { ...this.#query, ticket }));
        await new Promise((resolve) => {
          source.onopen = () => {
            failures = 0;
            this.attempt(() => this.#load());
          };
          source.addEventListener("notification", ({ data }) => this.#receive(JSON.parse(data)));
          source.onerror = resolve;
          signal.addEventListener("abort", resolve, { once: true });
        });
        source.close();
      } catch (error) {
        if (error.isFinal) throw error;
      }
      await pause((1 + Math.random()) * Math.min(1000 * 2 ** failures, LONGEST_PAUSE_MS / 2), signal);
    }
  }

  #receive(notification) {
    if (this.#items.some(({ id }) => id === notification.id)) return;
    this.#items = [notification, ...this.#items];
    if (!notification.isRead) this.#count(this.#unread + 1);
    this.say(this.t.arrived(notification.title));
  }

  #count(unread) {
    if (unread !== this.#unread) this.tell("unread", { count: unread });
    this.#unread = unread;
    this.draw();
  }

  async #markRead(item) {
    if (item.isRead) return;
    await this.request("PUT", `/user-notifications/${item.id}/read`, { query: this.#query });
    if (!item.isRead) this.#count(this.#unread - 1);
    item.isRead = true;
  }

  async #markAllRead() {
    await this.request("PUT", "/user-notifications/read-all", { query: this.#query });
    for (const item of this.#items) item.isRead = true;
    this.#count(0);
  }

  /** Follows a link of a notification, unless the page does it itself. */
  #open(event, item, url) {
    if (!this.tell("open", { notification: { ...item }, url })) event.preventDefault();
    this.attempt(() => this.#markRead(item));
  }

  actions() {
    const { t } = this;
    if (this.#unread === 0) return [];
    return [
      h("span", { class: "badge", part: "badge" }, t.unreadCount(this.#unread)),
      this.button(t.markAll, () => this.attempt(() => this.#markAllRead())),
    ];
  }

  content() {
    const { t } = this;
    if (this.#items.length === 0) return h("p", { class: "note", part: "note" }, t.empty);
    const more = () => this.attempt(() => this.#loadOlder());
    return [
      h("ul", { part: "list", "aria-labelledby": "title" }, this.#items.map((item) => this.#row(item))),
      this.#hasMore && this.button(t.more, more, { class: "more" }),
    ];
  }

  #row(item) {
    const { t } = this;
    const { id, title, body, actionUrl, isRead, createdAt } = item;
    const url = webLink(actionUrl);
    const open = (event) => this.#open(event, item, url);
    const read = () => this.attempt(() => this.#markRead(item));
    return h(
      "li",
      {
        "data-key": id,
        tabindex: "-1",
        part: isRead ? "item" : "item unread",
        class: isRead ? null : "unread",
      },
      !isRead && h("span", { class: "dot" }, h("span", { class: "hidden" }, t.unread)),
      h(
        "div",
        { class: "text" },
        h(
          "h3",
          { part: "item-title" },
          url ? h("a", { href: url, part: "link", onclick: open }, title) : title,
        ),
        body && h("p", { class: "body", part: "item-body" }, body),
        h(
          "div",
          { class: "row muted" },
          this.time(createdAt),
          !isRead &&
            this.button(t.markRead, read, { class: "plain", "aria-label": `${t.markRead}: ${title}` }),
        ),
      ),
    );
  }
}

/** The address of a link if it is http or https, which a path of the page is; else null. The sender chose it. */
function webLink(address) {
  if (!address || !URL.canParse(address, document.baseURI)) return null;
  const { protocol, href } = new URL(address, document.baseURI);
  return ["http:", "https:"].includes(protocol) ? href : null;
}

define("steward-inbox", StewardInbox);
