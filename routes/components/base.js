// What all components share: language, requests with the page's token, drawing and looks. The service puts this module
// before each component, so that a component is one file.

const COMMON = {
  en: {
    loading: "Loading…",
    tryAgain: "Try again",
    offline: "The service cannot be reached. Check your connection.",
    SESSION_INVALIDATED: "Your access has changed. Please sign in again.",
    TOKEN_REVOKED: "Your session has ended. Please sign in again.",
    401: "Please sign in again.",
    403: "You do not have the permission for this.",
    429: "Too many requests. Please try again in a minute.",
    failed: "This did not work. Please try again later.",
  },
  "pt-BR": {
    loading: "Carregando…",
    tryAgain: "Tentar de novo",
    offline: "Não foi possível falar com o serviço. Verifique sua conexão.",
    SESSION_INVALIDATED: "Seu acesso mudou. Entre novamente.",
    TOKEN_REVOKED: "Sua sessão terminou. Entre novamente.",
    401: "Entre novamente.",
    403: "Você não tem a permissão necessária.",
    429: "Muitas solicitações. Tente de novo em um minuto.",
    failed: "Não foi possível concluir. Tente de novo mais tarde.",
  },
};

const STYLES = `
:host { display: block;
  --text: var(--steward-text, light-dark(#18202b, #e4e8ee));
  --muted: var(--steward-muted, light-dark(#566070, #a3afbd));
  --surface: var(--steward-surface, light-dark(#ffffff, #161b22));
  --line: var(--steward-line, light-dark(#dfe3e8, #313b47));
  --accent: var(--steward-accent, light-dark(#0b6e68, #4cc2b6));
  --on-accent: var(--steward-on-accent, light-dark(#ffffff, #06201e));
  --danger: var(--steward-danger, light-dark(#b3261e, #ff8f85));
  --radius: var(--steward-radius, 8px); }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
section { background: var(--surface); color: var(--text); border: 1px solid var(--line); border-radius: var(--radius);
  font: 15px/1.45 var(--steward-font, system-ui, sans-serif); overflow-wrap: anywhere; overflow: hidden; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; padding: 12px 16px; }
h2 { flex: 1 1 11em; margin: 0; font-size: 1.1em; }
h2:focus, li:focus { outline: none; }
h3 { margin: 0; font-size: 1em; }
p { margin: 0; }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: 12px 16px; border-top: 1px solid var(--line); }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; }
.muted { color: var(--muted); font-size: .9em; }
.note { padding: 20px 16px; border-top: 1px solid var(--line); color: var(--muted); text-align: center; }
.problem { padding: 12px 16px; border-top: 1px solid var(--line); color: var(--danger); }
.badge { background: var(--accent); color: var(--on-accent); border-radius: 99px; padding: 1px 8px; font-size: .8em;
  font-weight: 600; white-space: nowrap; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
a { color: var(--accent); }
button { font: inherit; font-size: .9em; min-height: 32px; padding: 3px 12px; cursor: pointer; color: var(--accent);
  background: none; border: 1px solid var(--line); border-radius: calc(var(--radius) * .75); }
button:hover { border-color: currentColor; }
button.plain { border-color: transparent; min-height: 28px; padding: 0 6px; margin: 0 -6px -4px; text-decoration: underline;
  text-underline-offset: 3px; }
button.danger { color: var(--danger); }
button:disabled { opacity: .6; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

/** Texts by language; those that all components share are added. A page adds a language to this table. */
export const textTable = (own) =>
  Object.fromEntries(
    Object.entries(own).map(([language, texts]) => [language, { ...COMMON[language], ...texts }]),
  );

/** Makes an element. Strings among the children become text, never HTML. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on") || name === "checked") node[name] = value;
    else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat().filter((child) => child || child === 0));
  return node;
}

const PROPERTIES = ["onclick", "onchange", "ondragover", "ondragleave", "ondrop", "checked"];

/** Changes `old` into `next`, and keeps the nodes that stay, so that focus, selection and place stay too. */
function morph(old, next) {
  for (const name of old.getAttributeNames()) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of PROPERTIES) if (old[name] !== next[name]) old[name] = next[name];
  const keyOf = (node) => node.dataset?.key;
  const keyed = new Map([...old.children].map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const node of [...next.childNodes]) {
    const key = keyOf(node);
    const known = key ? keyed.get(key) : at && !keyOf(at) && at.nodeName === node.nodeName ? at : null;
    if (known && known === at) at = at.nextSibling;
    else old.insertBefore(known ?? node, at);
    if (known && node.nodeType === Node.TEXT_NODE) {
      if (known.data !== node.data) known.data = node.data;
    } else if (known) morph(known, node);
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

/** Waits. Rejects when the signal is aborted. */
export const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

/** An error answer of the service, a problem document; status 0: none. `isFinal`: a repeated request is refused too. */
export class Refused extends Error {
  constructor(status, { code, detail, title } = {}) {
    super(detail ?? title ?? `HTTP ${status}`);
    Object.assign(this, { status, code, isFinal: status >= 400 && status < 500 && status !== 429 });
  }
}

const STEPS = [["year", 31536e3], ["month", 2592e3], ["week", 604800], ["day", 86400], ["hour", 3600]];

/**
 * An element that shows what the service knows of the user. A component implements `start`, which loads, `content`, and
 * perhaps `actions` beside the title. `globalThis` has no HTMLElement where a server renders the page.
 */
export class StewardElement extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ["base-url", "lang", "tenant-id"];
  #readToken = null;
  #token = null;
  #life = null;
  #isDue = false;
  #said = "";
  #problem = "";
  #section;

  constructor() {
    super();
    const sheet = new CSSStyleSheet(); // a style element would need an exception in the page's content policy
    sheet.replaceSync(STYLES + this.constructor.styles);
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    root.append(this.#section = h("section"));
  }

  /** An async function that returns an access token. It is called again after the service has refused one. */
  get token() {
    return this.#readToken;
  }
  set token(read) {
    const isFirst = !this.#readToken;
    this.#readToken = read; // frameworks set a new function with each rendering, which is no reason to load again
    if (isFirst || !read) this.refresh();
  }

  connectedCallback() {
    for (const name of ["token", "categories"]) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name]; // the page set it before this script ran
      delete this[name];
      this[name] = value;
    }
    this.refresh();
  }

  disconnectedCallback() {
    this.#end();
  }

  #end() {
    this.#life?.abort();
    this.#life = null;
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.#life) return;
    if (["base-url", "tenant-id"].includes(name)) this.refresh();
    else this.draw();
  }

  /** Loads everything again, with a new token: also after another user has signed in. */
  refresh() {
    this.#end();
    this.#token = null;
    this.#problem = this.#said = "";
    this.isLoading = true;
    if (!this.isConnected) return;
    this.draw();
    if (!this.#readToken) return;
    const { signal } = this.#life = new AbortController();
    const timer = setInterval(() => this.draw(), 60_000); // times are relative
    signal.addEventListener("abort", () => clearInterval(timer));
    this.attempt(async () => {
      await this.start(signal);
      this.isLoading = false;
    });
  }

  /** Does what the user asked for, and shows the error if it fails. */
  async attempt(work) {
    const life = this.#life;
    try {
      await work();
      if (life === this.#life) this.#problem = "";
    } catch (error) {
      if (life !== this.#life || error.name === "AbortError") return;
      this.#problem = this.textOf(error);
      this.tell("error", { code: error.code, message: this.#problem });
    }
    this.draw();
  }

  /** The text of the code, else of the status. Others are in English, so another language has a text for all of them. */
  textOf({ code, status, message }) {
    const { t } = this;
    return t[code] ?? t[status] ?? (this.language.key === "en" ? message : t.failed);
  }

  /** Fires an event that pages listen to. @returns false if a listener prevented its default */
  tell(name, detail) {
    return this.dispatchEvent(
      new CustomEvent(`steward-${name}`, { detail, bubbles: true, composed: true, cancelable: true }),
    );
  }

  /** Tells users of screen readers. */
  say(text) {
    this.#said = text;
    this.draw();
  }

  /** The address of the service: where the script came from, unless the page names another. */
  url(path, query = {}) {
    const base = this.getAttribute("base-url") ?? new URL("../..", import.meta.url).href;
    const search = new URLSearchParams(query);
    return `${base.replace(/\/+$/, "")}/api/v1${path}${search.size > 0 ? `?${search}` : ""}`;
  }

  /** Sends a request and returns the answer; `value` is its JSON. @throws Refused */
  async request(method, path, { query, body, ifMatch, signal = this.#life?.signal } = {}) {
    for (let isLast = false;; isLast = true) {
      const asked = this.#token ??= Promise.resolve(this.#readToken());
      const token = await asked.catch((error) => {
        this.#token = null;
        throw error;
      });
      const tenantId = this.getAttribute("tenant-id");
      const answer = await fetch(this.url(path, query), {
        method,
        signal,
        headers: {
          authorization: `Bearer ${token}`,
          ...body ? { "content-type": "application/json" } : {},
          ...ifMatch ? { "if-match": ifMatch } : {},
          ...tenantId ? { "x-tenant-id": tenantId } : {},
        },
        ...body ? { body: JSON.stringify(body) } : {},
      }).catch((error) => {
        signal?.throwIfAborted();
        throw new Refused(0, { code: "offline", detail: error.message });
      });
      const text = await answer.text();
      if (answer.status === 401 && !isLast) {
        if (this.#token === asked) this.#token = null;
        continue;
      }
      const isJson = /json/.test(answer.headers.get("content-type"));
      const value = isJson && text ? JSON.parse(text) : undefined;
      if (!answer.ok) throw new Refused(answer.status, value);
      return { value, etag: answer.headers.get("etag") };
    }
  }

  /** The id of the user whose token it is. */
  async userId() {
    return (await this.request("GET", "/auth/me", { query: { maxTenants: 0 } })).value.user.id;
  }

  /** The language of the nearest `lang`, as a key of the table and for numbers and times. */
  get language() {
    const { texts } = this.constructor;
    const wanted = this.closest("[lang]")?.lang || document.documentElement.lang || navigator.language;
    const main = (tag) => tag.toLowerCase().split("-")[0];
    const known = Object.keys(texts);
    const key = known.find((tag) => tag.toLowerCase() === wanted.toLowerCase()) ??
      known.find((tag) => main(tag) === main(wanted)) ?? "en";
    const isKnown = main(key) === main(wanted) && /^[a-z]{2,3}(-[a-z\d]{2,8})*$/i.test(wanted);
    return { key, locale: isKnown ? wanted : key };
  }

  get t() {
    const { texts } = this.constructor;
    return { ...texts.en, ...texts[this.language.key] };
  }

  /** A time such as "2 hours ago". */
  time(instant) {
    const { locale } = this.language;
    const seconds = Math.round((Date.parse(instant) - Date.now()) / 1000);
    const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
    const count = Math.trunc(seconds / size);
    const words = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
    const title = new Date(instant).toLocaleString(locale, { dateStyle: "long", timeStyle: "short" });
    const text = count === 0 ? words.format(0, "second") : words.format(count, unit);
    return h("time", { datetime: instant, title, part: "time" }, text);
  }

  button(label, onclick, attributes = {}) {
    return h("button", { type: "button", part: "button", onclick, ...attributes }, label);
  }

  actions() {
    return [];
  }

  /** Draws once for all changes of a task. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      const { activeElement } = this.shadowRoot;
      const place = activeElement?.closest("[data-key]");
      morph(this.#section, this.#frame());
      if (!activeElement || activeElement.isConnected) return;
      (place?.isConnected ? place : this.#section.querySelector("h2")).focus(); // the used button has gone
    });
  }

  #frame() {
    const { t, isLoading } = this;
    const again = () => this.refresh();
    return h(
      "section",
      {
        part: "box",
        lang: this.language.key,
        "aria-labelledby": "title",
        "aria-busy": String(isLoading && !this.#problem),
      },
      h(
        "header",
        { part: "header" },
        h("h2", { id: "title", part: "title", tabindex: "-1" }, t.title),
        isLoading ? [] : this.actions(),
      ),
      this.#problem && h(
        "div",
        { class: "problem row", role: "alert", part: "problem", "data-key": "problem" },
        h("p", {}, this.#problem),
        this.button(t.tryAgain, again),
      ),
      isLoading && !this.#problem && h("p", { class: "note", part: "note" }, t.loading),
      isLoading ? [] : this.content(),
      h("p", { class: "hidden", role: "status", "data-key": "said" }, this.#said),
    );
  }
}

/** Defines the element, once for all scripts of a page. */
export function define(name, element) {
  const { customElements } = globalThis;
  if (customElements && !customElements.get(name)) customElements.define(name, element);
}
