import { define, h, StewardElement, textTable } from "./base.js";

const texts = textTable({
  en: {
    title: "Where you are signed in",
    current: "This session",
    unknown: "Unknown device",
    lastUsed: "Last used",
    end: "End",
    endOthers: "End all others",
    ended: "The session has ended.",
    empty: "There are no open sessions.",
  },
  "pt-BR": {
    title: "Onde sua conta está aberta",
    current: "Esta sessão",
    unknown: "Dispositivo desconhecido",
    lastUsed: "Último uso",
    end: "Encerrar",
    endOthers: "Encerrar todas as outras",
    ended: "A sessão foi encerrada.",
    empty: "Não há sessões abertas.",
  },
});

/** Words of User-Agent headers with the names that they stand for. The first word that is found counts. */
const BROWSERS = ["Edg=Edge", "OPR=Opera", "Firefox", "FxiOS=Firefox", "Chrome", "CriOS=Chrome", "Safari"];
const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac OS=macOS", "Linux"];

/** A name such as "Chrome, Windows" for a User-Agent header; the header itself if it is of no known browser. */
function deviceName(userAgent) {
  const found = (words) => words.find((word) => userAgent.includes(word.split("=")[0]))?.split("=").at(-1);
  return [found(BROWSERS), found(SYSTEMS)].filter(Boolean).join(", ") || userAgent.slice(0, 100);
}

/** The user's open sessions, which the user can end. */
class StewardSessions extends StewardElement {
  static texts = texts;
  static styles = `
    .text { flex: 1 1 12em; }`;
  #sessions = [];

  async start() {
    this.#sessions = (await this.request("GET", "/auth/sessions")).value;
  }

  /** Ends sessions, and reads which are left even if one of them fails. */
  async #end(sessions) {
    try {
      for (const { id } of sessions) {
        await this.request("DELETE", `/auth/sessions/${id}`).catch((error) => {
          if (error.code !== "SESSION_NOT_FOUND") throw error; // it has ended already
        });
        this.tell("session-ended", { id });
      }
      this.say(this.t.ended);
    } finally {
      await this.start();
    }
  }

  get #others() {
    return this.#sessions.filter(({ isCurrent }) => !isCurrent);
  }

  actions() {
    const isOwnKnown = this.#sessions.length > this.#others.length;
    if (!isOwnKnown || this.#others.length < 2) return [];
    const end = () => this.attempt(() => this.#end(this.#others));
    return [this.button(this.t.endOthers, end, { class: "danger" })];
  }

  content() {
    const { t } = this;
    if (this.#sessions.length === 0) return h("p", { class: "note", part: "note" }, t.empty);
    const rows = this.#sessions.map((session) => this.#row(session));
    return h("ul", { part: "list", "aria-labelledby": "title" }, rows);
  }

  #row(session) {
    const { t } = this;
    const { id, userAgent, ip, lastUsedAt, isCurrent } = session;
    const name = userAgent ? deviceName(userAgent) : t.unknown;
    const end = () => this.attempt(() => this.#end([session]));
    return h(
      "li",
      { "data-key": id, tabindex: "-1", class: "row", part: isCurrent ? "item current" : "item" },
      h(
        "div",
        { class: "text" },
        h("h3", { part: "item-title", title: userAgent }, name),
        h("p", { class: "muted" }, `${t.lastUsed}: `, this.time(lastUsedAt), ip && ` · ${ip}`),
      ),
      isCurrent
        ? h("span", { class: "badge", part: "badge" }, t.current)
        : this.button(t.end, end, { class: "danger", "aria-label": `${t.end}: ${name}` }),
    );
  }
}

define("steward-sessions", StewardSessions);
