// What the console does in the browser: nothing here is needed to read a page or send a form.
const root = document.documentElement;

// The server writes instants in this zone from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  document.cookie = `steward_tz=${encodeURIComponent(zone)}; Path=${
    new URL(document.baseURI).pathname.replace(/\/$/, "")
  }; SameSite=Strict; Max-Age=31536000`;
}

const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], [
  "second",
  1,
]];
const words = new Intl.RelativeTimeFormat(root.lang === "pt" ? "pt-PT" : "en-GB", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(root.lang === "pt" ? "pt-PT" : "en-GB", {
  dateStyle: "medium",
  timeStyle: "long",
});

function tellTimes(within) {
  for (const element of within.querySelectorAll("time[data-time]")) {
    const at = new Date(element.dateTime);
    const seconds = Math.round((at - Date.now()) / 1000);
    const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= 0.985 * size) ?? ["second", 1];
    element.textContent = words.format(Math.round(seconds / size), unit);
    element.title = exact.format(at);
  }
}
tellTimes(document);
setInterval(() => tellTimes(document), 15_000);
document.addEventListener("htmx:afterSettle", () => tellTimes(document));

// A list is not refreshed under someone's hands: while it is hidden, a dialog is open, a row is ticked, opened or pressed,
// text of it is selected, or a form of it edited.
const refreshesItself = (part) => part.getAttribute("hx-trigger")?.startsWith("every");
function isBusy(part) {
  const selection = getSelection();
  return document.hidden || document.querySelector("dialog[open]") ||
    part.querySelector("input:checked[data-row-check], details[open], :active") ||
    (!selection.isCollapsed && part.contains(selection.anchorNode)) ||
    (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select"));
}
document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.detail.elt;
  if (refreshesItself(part) && isBusy(part)) event.preventDefault();
});

// Filters that say nothing stay out of the address.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.verb !== "get") return;
  for (const [name, value] of [...detail.formData]) {
    if (value === "") detail.formData.delete(name);
  }
});

// One step back undoes one filter, though a search may be asked for twice: as it is typed, and as its field is left.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail: { history } }) => {
  if (new URL(history.path, document.baseURI).href === location.href) history.type = "replace";
});

// Where the reader was in a part that is replaced, they are again: at the same control, and as far to the side.
const CONTROLS = "a, button, input, select, textarea, summary, [tabindex]";
const signOf = (control) =>
  [
    control.tagName,
    control.id,
    control.getAttribute("href"),
    control.getAttribute("aria-label"),
    control.form?.getAttribute("action"),
    control.value,
    control.dataset.copy,
  ].join();
let place = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr, target, isError, requestConfig } = detail;
  // A session that has ended, or rights that have gone, show the whole page anew; a failure leaves what stands.
  if ((isError && xhr.status < 500) || new URL(xhr.responseURL).pathname.endsWith("/console/sign-in")) {
    detail.shouldSwap = false;
    return location.reload();
  }
  // They may have begun since it was asked for.
  if (refreshesItself(requestConfig.elt) && isBusy(target)) detail.shouldSwap = false;
  place = {
    id: target.id,
    sign: target.contains(document.activeElement) && signOf(document.activeElement),
    aside: [...target.querySelectorAll(".table-scroll")].map(({ scrollLeft }) => scrollLeft),
  };
});
// In the same breath: by the time it has settled, they may have gone on to somewhere else.
document.addEventListener("htmx:afterSwap", () => {
  const part = place && document.getElementById(place.id);
  if (!part) return;
  part.querySelectorAll(".table-scroll").forEach((table, index) =>
    table.scrollLeft = place.aside[index] ?? 0
  );
  if (place.sign && document.activeElement === document.body) {
    const same = [...part.querySelectorAll(CONTROLS)].find((control) => signOf(control) === place.sign);
    (same ?? document.getElementById("content")).focus({ preventScroll: true });
  }
  place = null;
});

// What the last action came to is where one goes on from; the entry of this page is in sight.
document.querySelector("[data-flash]")?.focus({ preventScroll: true });
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest" });

// Over plain http a browser has no clipboard; what is selected can be copied all the same.
async function copyText(text) {
  if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  const held = Object.assign(document.createElement("textarea"), { value: text, className: "sr-only" });
  const from = document.activeElement;
  document.body.append(held);
  held.select();
  document.execCommand("copy");
  held.remove();
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
  // "/" goes to the list's search.
  const typing = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    const search = document.querySelector("main input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});

// Choices that take effect at once.
document.addEventListener("change", (event) => {
  if (event.target.matches?.("[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches?.("[data-check-all]")) {
    for (const box of document.querySelectorAll("[data-row-check]")) box.checked = event.target.checked;
  }
});

// A question before what cannot be undone.
const dialog = document.getElementById("confirm");
let asking = null;
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = event.submitter?.dataset.confirm ?? form.dataset?.confirm;
  if (!question || form.dataset.confirmed || !dialog) return;
  event.preventDefault();
  asking = { form, submitter: event.submitter };
  dialog.querySelector("#confirm-question").textContent = question;
  dialog.returnValue = "no";
  dialog.showModal();
}, true);
dialog?.addEventListener("close", () => {
  if (dialog.returnValue === "yes" && asking) {
    asking.form.dataset.confirmed = "yes";
    asking.form.requestSubmit(asking.submitter);
    delete asking.form.dataset.confirmed;
  }
  asking = null;
});
// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  const intoFrame = event.submitter?.hasAttribute("formtarget");
  if (event.defaultPrevented || event.target.method !== "post" || intoFrame) return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "yes";
  setTimeout(() => delete event.target.dataset.sent, 5_000);
});

// A preview in order has an HTML part of its own: the form goes into the frame as well, a new one, so that the browser's
// history stays as it is.
document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (!target.matches("[data-preview]") || target.querySelector("[data-preview-failed]")) return;
  const form = target.closest("form");
  if (form.dataset.sent) return; // it is on its way, and sending it elsewhere would call that off
  const frame = form.querySelector("iframe");
  frame.replaceWith(frame.cloneNode());
  form.requestSubmit(form.querySelector("[data-frame-button]"));
});
// From a mistake to its place: the id of a text field, line and column, both from 1.
document.addEventListener("click", (event) => {
  const mistake = event.target.closest?.("[data-caret]");
  if (!mistake) return;
  event.preventDefault();
  const [id, line, column] = mistake.dataset.caret.split(" ");
  const text = document.getElementById(id);
  const before = text.value.split("\n").slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  text.focus();
  text.setSelectionRange(before + column - 1, before + Number(column));
});

// The inbox tells of new messages as they come.
const inbox = document.querySelector("[data-inbox-stream]");
if (inbox && "EventSource" in window) {
  const count = inbox.querySelector("[data-unread]");
  const stream = new EventSource(new URL(inbox.dataset.inboxStream, document.baseURI));
  stream.addEventListener("unread", (event) => {
    const unread = Number(event.data);
    count.textContent = String(unread);
    count.hidden = unread === 0;
  });
  addEventListener("pagehide", () => stream.close());
}

// Back from an OpenID provider: the one-use code goes to the server, and out of the address.
const handover = document.querySelector("form[data-handover]");
if (handover && location.hash) {
  const said = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  if (said.has("code")) {
    handover.elements.code.value = said.get("code");
    handover.submit();
  } else if (said.has("error")) {
    const note = Object.assign(document.createElement("p"), {
      className: "error",
      textContent: said.get("error"),
    });
    note.setAttribute("role", "alert");
    handover.parentElement.append(note);
  }
}
