import { define, h, StewardElement, textTable } from "./base.js";

const CHANNELS = ["inApp", "email", "push", "sms"];

const texts = textTable({
  en: {
    title: "Notification settings",
    category: "About",
    channels: { inApp: "In the app", email: "Email", push: "Push", sms: "SMS" },
    empty: "There is nothing to choose yet.",
    saved: "Saved.",
    PRECONDITION_FAILED: "This was changed elsewhere in the meantime. Please choose again.",
  },
  "pt-BR": {
    title: "Preferências de notificação",
    category: "Assunto",
    channels: { inApp: "No app", email: "E-mail", push: "Push", sms: "SMS" },
    empty: "Ainda não há o que escolher.",
    saved: "Salvo.",
    PRECONDITION_FAILED: "Isto foi alterado em outro lugar. Escolha novamente.",
  },
});

/** The channels on which the user wants messages of each category. A change is saved at once. */
class StewardPreferences extends StewardElement {
  static texts = texts;
  static observedAttributes = [...StewardElement.observedAttributes, "categories", "channels"];
  static styles = `
    table { width: 100%; border-collapse: collapse; }
    th, td { border-top: 1px solid var(--line); padding: 4px; text-align: center; font-weight: 500; }
    th:first-child { text-align: start; padding-inline-start: 16px; }
    thead th { color: var(--muted); font-size: .85em; }
    td label { display: grid; place-items: center; min-height: 44px; cursor: pointer; }
    input { width: 20px; height: 20px; margin: 0; accent-color: var(--accent); cursor: pointer; }`;
  #query = {};
  #preferences = { categories: [] };
  #etag = null;
  #offered = null;
  #saving = Promise.resolve();

  /** The categories of the page's messages: names, or `{ category, label }`. Those that the user has chosen for are added. */
  get categories() {
    return this.#offered ?? listOf(this.getAttribute("categories"));
  }
  set categories(offered) {
    this.#offered = offered;
    this.draw();
  }

  async start() {
    this.#query = { userId: await this.userId() };
    await this.#load();
  }

  async #load() {
    const { value, etag } = await this.request("GET", PATH, { query: this.#query });
    this.#preferences = value;
    this.#etag = etag;
  }

  /** Saves one choice after those before it. */
  #choose(category, channel, isWanted) {
    this.#saving = this.#saving.then(() => this.attempt(() => this.#save(category, channel, isWanted)));
  }

  async #save(category, channel, isWanted) {
    const { timeZoneId, categories } = this.#preferences;
    const before = categories.find((known) => isSame(known.category, category));
    const changed = { category, channels: { ...before?.channels, [channel]: isWanted } };
    const body = { timeZoneId, categories: [...categories.filter((known) => known !== before), changed] };
    try {
      const saved = await this.request("PUT", PATH, { query: this.#query, body, ifMatch: this.#etag });
      this.#preferences = saved.value;
      this.#etag = saved.etag;
    } catch (error) {
      await this.#load().catch(() => {}); // shows what holds; the error is that of the change
      throw error;
    }
    this.say(this.t.saved);
    this.tell("saved", { category, channel, isWanted });
  }

  content() {
    const { t } = this;
    const offered = this.categories.map((one) =>
      typeof one === "string" ? { category: one, label: one } : one
    );
    const others = this.#preferences.categories.filter(({ category }) =>
      !offered.some((one) => isSame(one.category, category))
    );
    const rows = [...offered, ...others.map(({ category }) => ({ category, label: category }))];
    if (rows.length === 0) return h("p", { class: "note", part: "note" }, t.empty);
    const wanted = listOf(this.getAttribute("channels"));
    const known = Object.keys(this.#preferences.categories[0]?.channels ?? {});
    const channels = wanted.length > 0 ? wanted : [...new Set([...CHANNELS, ...known])];
    const head = channels.map((name) =>
      h("th", { scope: "col", id: `c-${name}`, part: "channel" }, t.channels[name] ?? name)
    );
    return h(
      "table",
      { part: "table", "aria-labelledby": "title" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t.category), head)),
      h("tbody", {}, rows.map((row, index) => this.#row(row, index, channels))),
    );
  }

  #row({ category, label }, index, channels) {
    const choices = this.#preferences.categories.find((known) => isSame(known.category, category))?.channels;
    const cells = channels.map((name) => {
      const onchange = ({ target }) => this.#choose(category, name, target.checked);
      const checked = choices?.[name] ?? true;
      const labels = { "aria-labelledby": `r-${index} c-${name}` };
      return h(
        "td",
        {},
        h("label", {}, h("input", { type: "checkbox", part: "checkbox", checked, onchange, ...labels })),
      );
    });
    const name = h("th", { scope: "row", id: `r-${index}`, part: "category" }, label ?? category);
    return h("tr", { "data-key": category }, name, cells);
  }
}

const PATH = "/user-notifications/preferences";
const listOf = (text) => text?.split(",").map((part) => part.trim()).filter(Boolean) ?? [];
const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

define("steward-preferences", StewardPreferences);
