// Browser-side behaviour of the console. Pages can be read and forms sent without it.
const root = document.documentElement;

// The server uses this time zone from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  document.cookie = root.dataset.zoneCookie.replace("{zone}", encodeURIComponent(zone));
}

const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], [
  "second",
  1,
]];
const relative = new Intl.RelativeTimeFormat(root.lang === "pt" ? "pt-BR" : "en-GB", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(root.lang === "pt" ? "pt-BR" : "en-GB", {
  dateStyle: "medium",
  timeStyle: "long",
});

function updateTimes() {
  for (const element of document.querySelectorAll("time[data-time]")) {
    const at = new Date(element.dateTime);
    const seconds = Math.round((at - Date.now()) / 1000);
    const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= 0.985 * size) ?? ["second", 1];
    element.textContent = relative.format(Math.round(seconds / size), unit);
    element.title = exact.format(at);
  }
}
updateTimes();
setInterval(updateTimes, 15_000);
document.addEventListener("htmx:afterSettle", updateTimes);

// A live part is not refreshed while the user works in it: the page is hidden, a dialog is open, a row is ticked, opened or
// pressed, text is selected, or a field has the focus.
const refreshesItself = (part) => part.getAttribute("hx-trigger")?.startsWith("every");
function isBusy(part) {
  const selection = getSelection();
  return document.hidden || document.querySelector("dialog[open]") ||
    part.querySelector("input:checked:is([data-row-check], [data-all-matching]), details[open], :active") ||
    (!selection.isCollapsed && part.contains(selection.anchorNode)) ||
    (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select"));
}
document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.detail.elt;
  if (refreshesItself(part) && isBusy(part)) event.preventDefault();
  // A search is sent while typing, and again when the field loses the focus. The second would close an open menu.
  const { finalRequestPath } = event.detail.pathInfo;
  const isShown = new URL(finalRequestPath, document.baseURI).href === location.href;
  if (part.matches(".filters") && isShown) event.preventDefault();
});

// While the service does not answer, the figures of live parts are old: they are greyed, and the page says since when.
const offline = document.querySelector("[data-offline]");
let answeredAt = new Date();
const clock = new Intl.DateTimeFormat(root.lang === "pt" ? "pt-BR" : "en-GB", { timeStyle: "short" });
function showConnection(isLost) {
  if (!offline) return;
  if (!isLost) answeredAt = new Date();
  else if (offline.hidden) {
    offline.textContent = offline.dataset.offline.replace("#", clock.format(answeredAt));
  }
  offline.hidden = !isLost;
  root.classList.toggle("offline", isLost);
}
document.addEventListener("htmx:sendError", () => showConnection(true));
document.addEventListener("htmx:timeout", () => showConnection(true));
document.addEventListener("htmx:afterRequest", ({ detail: { xhr } }) => {
  if (xhr.status > 0) showConnection(xhr.status >= 502);
});

// Empty filters are left out of the address.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.verb !== "get") return;
  for (const [name, value] of [...detail.formData]) {
    if (value === "") detail.formData.delete(name);
  }
});

// A search is sent twice: while typing and when the field loses the focus. Replacing the history entry the second time
// makes one step back undo one filter.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail: { history } }) => {
  if (new URL(history.path, document.baseURI).href === location.href) history.type = "replace";
});

// After a swap, the focus returns to the same control, and tables keep their horizontal scroll position.
const CONTROLS = "a, button, input, select, textarea, summary, [tabindex]";
const controlKey = (control) =>
  [
    control.tagName,
    control.id,
    control.getAttribute("href"),
    control.getAttribute("aria-label"),
    control.form?.getAttribute("action"),
    control.value,
    control.dataset.copy,
  ].join();
let saved = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr, target, isError, requestConfig } = detail;
  // The session has ended or permissions have changed: reload the page. A server error keeps the current content.
  if ((isError && xhr.status < 500) || new URL(xhr.responseURL).pathname.endsWith("/console/sign-in")) {
    detail.shouldSwap = false;
    return location.reload();
  }
  // The user may have started working after the request was sent.
  if (refreshesItself(requestConfig.elt) && isBusy(target)) detail.shouldSwap = false;
  saved = {
    id: target.id,
    focused: target.contains(document.activeElement) && controlKey(document.activeElement),
    scrollLefts: [...target.querySelectorAll(".table-scroll")].map(({ scrollLeft }) => scrollLeft),
  };
});
// At afterSwap, not afterSettle: until then the user may have moved the focus.
document.addEventListener("htmx:afterSwap", () => {
  const part = saved && document.getElementById(saved.id);
  if (!part) return;
  part.querySelectorAll(".table-scroll").forEach((table, index) =>
    table.scrollLeft = saved.scrollLefts[index] ?? 0
  );
  if (saved.focused && document.activeElement === document.body) {
    const same = [...part.querySelectorAll(CONTROLS)].find((control) =>
      controlKey(control) === saved.focused
    );
    (same ?? document.getElementById("content")).focus({ preventScroll: true });
  }
  saved = null;
});

// Focus the result of the last action, and scroll the current navigation entry into view.
document.querySelector("[data-flash]")?.focus({ preventScroll: true });
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest" });

// Browsers offer the clipboard API only over HTTPS. Otherwise the text is selected in a hidden field and copied.
async function copyText(text) {
  if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "sr-only" });
  const from = document.activeElement;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  from.focus({ preventScroll: true });
}
document.addEventListener("click", async (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const copy = target?.closest("[data-copy]");
  if (copy) {
    await copyText(copy.dataset.copy);
    copy.classList.add("done");
    copy.title = copy.dataset.copied;
    setTimeout(() => copy.classList.remove("done"), 1500);
  }
  // Adds an empty copy of the last row.
  const more = target?.closest("[data-add-row]");
  if (more) {
    const rows = document.querySelector(more.dataset.addRow);
    const row = rows.lastElementChild.cloneNode(true);
    for (const input of row.querySelectorAll("input, textarea")) input.value = "";
    rows.append(row);
    row.querySelector("input").focus();
  }
  const menu = target?.closest("[data-menu]");
  if (menu) {
    const open = document.getElementById("sections").classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  }
  for (const details of document.querySelectorAll("details[data-close-outside][open]")) {
    if (!details.contains(target)) details.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const details of document.querySelectorAll("details[data-close-outside][open]")) {
      details.open = false;
      details.querySelector("summary").focus();
    }
    if (document.querySelector(".sections.open")) {
      const menu = document.querySelector("[data-menu]");
      menu.click();
      menu.focus();
    }
  }
  const isTyping = event.target instanceof Element &&
    event.target.matches("input:not([type=checkbox]), textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
    return;
  }
  const run = KEYS[event.key];
  if (run?.() !== undefined) event.preventDefault();
});

// The keys of a page; `?` lists them. j and k move through the rows of the list, x ticks the row, Enter opens it.
const rows = () => [...document.querySelectorAll("main table.rows tbody tr")];
const rowAt = () => document.querySelector("main tr[data-at]");
function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(rowAt()) + step))];
  rowAt()?.removeAttribute("data-at");
  next.setAttribute("data-at", "");
  next.querySelector("a[href]")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return next;
}
const focusOn = (selector) => {
  const field = document.querySelector(selector);
  field?.focus();
  return field ?? undefined;
};
const KEYS = {
  "?": () => document.getElementById("keys")?.showModal() ?? true,
  "/": () => focusOn("main input[type=search]"),
  j: () => move(1),
  k: () => move(-1),
  x: () => rowAt()?.querySelector("[data-row-check]")?.click() ?? (rowAt() ? true : undefined),
};

// A chip says what was chosen in it.
document.addEventListener("change", ({ target }) => {
  const chip = target.closest?.(".chip");
  if (!chip) return;
  const chosen = target.value && (target.selectedOptions?.[0].textContent ?? target.value);
  chip.querySelector("[data-chosen]").textContent = chosen ? `: ${chosen}` : "";
  chip.classList.toggle("set", Boolean(chosen));
});

// Groups of the navigation stay closed.
for (const group of document.querySelectorAll(".sections details")) {
  const key = `closed ${group.dataset.group}`;
  if (localStorage.getItem(key) && !group.querySelector("[aria-current]")) group.open = false;
  group.addEventListener("toggle", () => {
    if (group.open) localStorage.removeItem(key);
    else localStorage.setItem(key, "yes");
  });
}
// After a refused form, the first input with an error has the focus, or the first input of a group with an error.
const wrong = document.querySelector("main :is([aria-invalid=true], form .error:not(:empty))");
wrong?.closest("details")?.setAttribute("open", "");
const group = wrong?.closest("fieldset, .field, details, .card, form");
(wrong?.matches(".error") ? group.querySelector("input:not([type=hidden]), select, textarea") : wrong)
  ?.focus();

// Selects that submit their form at once, and the "select all" checkbox.
document.addEventListener("change", (event) => {
  if (event.target.matches?.("[data-submit]")) event.target.form.requestSubmit();
  // The rows of one form: this page, or all that match. Without a tick in a row, neither is ticked.
  const form = event.target.form;
  if (event.target.matches?.("[data-check-all], [data-all-matching]")) {
    for (const box of form.elements) {
      if (box.matches("[data-row-check], [data-check-all]")) box.checked = event.target.checked;
    }
    const all = form.querySelector("[data-all-matching]");
    if (all && event.target !== all) all.checked = false;
  } else if (event.target.matches?.("[data-row-check]")) {
    for (const box of form.querySelectorAll("[data-check-all], [data-all-matching]")) box.checked = false;
  }
});

// Asks for confirmation before forms with `data-confirm` are sent.
const dialog = document.getElementById("confirm");
let pending = null;
document.addEventListener("submit", (event) => {
  const form = event.target;
  const { submitter } = event;
  const question = submitter?.dataset.confirm ?? form.dataset?.confirm;
  if (!question || form.dataset.confirmed || !dialog) return;
  event.preventDefault();
  pending = { form, submitter };
  dialog.querySelector("#confirm-question").textContent = question;
  // The button says what it does, like the one that was pressed.
  const yes = dialog.querySelector("[data-confirm-yes]");
  yes.textContent = form.dataset.confirmLabel ?? submitter?.textContent.trim() ?? yes.textContent;
  yes.className = `button ${submitter?.classList.contains("danger") ? "danger" : "primary"}`;
  dialog.returnValue = "no";
  dialog.showModal();
}, true);
dialog?.addEventListener("close", () => {
  if (dialog.returnValue === "yes" && pending) {
    pending.form.dataset.confirmed = "yes";
    pending.form.requestSubmit(pending.submitter);
    delete pending.form.dataset.confirmed;
  }
  pending = null;
});
// Prevents double submits: a form is sent at most once in 5 seconds.
document.addEventListener("submit", (event) => {
  const intoFrame = event.submitter?.hasAttribute("formtarget");
  if (event.defaultPrevented || event.target.method !== "post" || intoFrame) return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "yes";
  setTimeout(() => delete event.target.dataset.sent, 5_000);
});

// After a successful text preview, the form is also submitted into the iframe for the HTML preview. The iframe is replaced
// first, so that the submit adds no history entry.
document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (!target.matches("[data-preview]") || target.querySelector("[data-preview-failed]")) return;
  const form = target.closest("form");
  if (form.dataset.sent) return; // a second submit would abort the one that is running
  const frame = form.querySelector("iframe");
  frame.replaceWith(frame.cloneNode());
  form.requestSubmit(form.querySelector("[data-frame-button]"));
});
// A link on an error moves the cursor to its position. `data-caret` is "field-id line column", both counted from 1.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-caret]");
  if (!link) return;
  event.preventDefault();
  const [id, line, column] = link.dataset.caret.split(" ");
  const text = document.getElementById(id);
  const before = text.value.split("\n").slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  text.focus();
  text.setSelectionRange(before + column - 1, before + Number(column));
});

// The unread count is updated by server-sent events.
const inbox = document.querySelector("[data-inbox-stream]");
if (inbox && "EventSource" in window) {
  const count = inbox.querySelector("[data-unread]");
  const stream = new EventSource(new URL(inbox.dataset.inboxStream, document.baseURI));
  stream.addEventListener("unread", (event) => {
    const unread = Number(event.data);
    count.textContent = String(unread);
    count.hidden = unread === 0;
  });
  // A stream ends with its session. Then the sign-in page replaces the data that this tab still shows.
  stream.addEventListener("error", async () => {
    if (stream.readyState !== EventSource.CLOSED) return;
    const { type } = await fetch(location.href, { redirect: "manual" });
    if (type === "opaqueredirect") location.reload();
  });
  addEventListener("pagehide", () => stream.close());
}

// A one-time code of an identity provider, or the token of a set-up link, is sent to the server and removed from the address.
const handover = document.querySelector("form[data-handover]");
if (handover && location.hash) {
  const result = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  const name = ["code", "token"].find((name) => result.has(name) && handover.elements[name]);
  if (name) {
    handover.elements[name].value = result.get(name);
    handover.submit();
  } else if (result.has("error")) {
    const address = new URL(location.href);
    address.searchParams.set("error", result.get("error"));
    location.replace(address);
  }
}
