// The dialogs with a search field: the search over the console (Ctrl-K) and the switcher of tenants. Without it, their
// buttons lead to pages.
const TYPING_MS = 150;

/** Creates the dialog of a template. @returns a function that opens it */
function createFinder(template) {
  const dialog = template.content.firstElementChild.cloneNode(true);
  document.body.append(dialog);
  const input = dialog.querySelector("input");
  const results = dialog.querySelector("[data-finder-results]");
  const status = dialog.querySelector("[data-finder-status]");
  let options = [];
  let marked = -1;
  let timer = 0;
  let request = null;
  let shownFor = null; // the text whose results are shown
  let isEntered = false; // Enter was pressed before the results came

  function mark(index) {
    options[marked]?.setAttribute("aria-selected", "false");
    marked = options.length === 0 ? -1 : (index + options.length) % options.length;
    const option = options[marked];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }

  /** @param more ask again, with time for what was too late the first time */
  async function load(more = false) {
    clearTimeout(timer);
    const text = input.value.trim();
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    const url = new URL(dialog.dataset.finderSource, document.baseURI);
    url.searchParams.set("q", text);
    if (more) url.searchParams.set("wait", "1");
    let html;
    try {
      const answer = await fetch(url, { signal, redirect: "manual" });
      if (!answer.ok) return location.reload(); // the session has ended
      html = await answer.text();
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    if (signal.aborted) return;
    const href = more ? options[marked]?.getAttribute("href") : null;
    results.innerHTML = html; // the server has escaped all texts
    options = [...results.querySelectorAll("[role=option]")];
    shownFor = text;
    marked = -1;
    if (text === "") input.removeAttribute("aria-activedescendant"); // Enter would switch before anything is typed
    else mark(Math.max(0, options.findIndex((option) => href && option.getAttribute("href") === href)));
    input.setAttribute("aria-expanded", String(options.length > 0));
    status.textContent = options.length > 0
      ? status.dataset.text.replace("#", String(options.length))
      : results.textContent.trim();
    if (!more && results.querySelector("[data-late]")) return load(true);
    if (isEntered) options[marked]?.click();
    isEntered = false;
  }

  input.addEventListener("input", () => {
    isEntered = false;
    clearTimeout(timer);
    timer = setTimeout(() => load(), TYPING_MS);
  });
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      mark(marked === -1 && event.key === "ArrowUp" ? -1 : marked + steps[event.key]);
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be cleared
      dialog.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (input.value.trim() === shownFor) return options[marked]?.click();
      isEntered = true;
      void load();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-finder-close]")) dialog.close();
  });
  return () => {
    if (dialog.open) return;
    document.querySelector("dialog[open]")?.close();
    dialog.showModal();
    input.select();
    void load();
  };
}

for (const opener of document.querySelectorAll("[data-finder]")) {
  const template = document.querySelector(`[data-finder-template="${opener.dataset.finder}"]`);
  let openFinder = null;
  const open = (event) => {
    event.preventDefault();
    (openFinder ??= createFinder(template))();
  };
  opener.addEventListener("click", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) open(event);
  });
  const key = opener.dataset.finderKey;
  if (!key) continue;
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === key) open(event);
  });
}
