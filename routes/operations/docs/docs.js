// The API reference: loads operations when they are opened, signs in, sends requests and shows code that does so.
// Tokens stay in this page's memory.
"use strict";

let session = null; // { accessToken, refreshToken, email } of the sign-in form
let factorToken = null;
const signIn = document.getElementById("docs-sign-in");
const part = (name) => signIn.querySelector(`[data-${name}]`);
const url = (path) => new URL(path.replace(/^\//, ""), document.baseURI).href;

const token = () => part("token").value.trim() || session?.accessToken || "";

async function post(path, body) {
  const response = await fetch(url(path), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { ok: response.ok, value: await response.json().catch(() => ({})) };
}

function show(text, isBad = false) {
  part("who").textContent = text;
  part("who").classList.toggle("error", isBad);
}

signIn.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { email, password, code } = Object.fromEntries(new FormData(signIn));
  show("…");
  const { ok, value } = factorToken && code
    ? await post("/api/v1/auth/login/factor", { factorToken, code })
    : await post("/api/v1/auth/login", { email, password });
  if (!ok) {
    factorToken = value.factorToken ?? null;
    part("code").hidden = factorToken === null;
    if (factorToken) part("code").querySelector("input").focus();
    show(
      factorToken ? "Enter the code of your authenticator app." : value.detail ?? "The sign-in failed.",
      true,
    );
    return;
  }
  factorToken = null;
  session = { ...value, email };
  signIn.reset();
  part("credentials").hidden = true;
  part("code").hidden = true;
  part("sign-out").hidden = false;
  show(`Signed in as ${email}${value.tenant ? ` in ${value.tenant.name}` : ""}. Requests use this session.`);
  for (const hint of document.querySelectorAll("[data-needs-sign-in]")) hint.hidden = true;
});

part("sign-out").addEventListener("click", () => {
  if (session) fetch(url("/api/v1/auth/logout"), { method: "POST", headers: headersFor() }).catch(() => {});
  session = null;
  part("credentials").hidden = false;
  part("sign-out").hidden = true;
  show("");
});

function headersFor() {
  const tenant = part("tenant").value.trim();
  return {
    ...(token() ? { authorization: `Bearer ${token()}` } : {}),
    ...(tenant ? { "x-tenant-id": tenant } : {}),
  };
}

/** What a form asks for: method, address, headers and body. */
function requestOf(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const input of form.querySelectorAll("[data-in]")) {
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (input.dataset.in === "query") query.append(input.name, input.value);
    else headers[input.name] = input.value;
  }
  const json = form.querySelector("[data-json]");
  const lines = form.querySelector("[data-form]");
  const file = form.querySelector("[data-file]");
  let body;
  if (json) {
    headers["content-type"] = "application/json";
    body = json.value;
  } else if (lines) {
    body = new URLSearchParams(
      lines.value.split("\n").filter(Boolean).map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
  } else if (file?.files[0]) {
    if (form.dataset.body === "multipart/form-data") {
      body = new FormData();
      body.set("file", file.files[0]);
    } else {
      body = file.files[0];
    }
  }
  const address = path + (query.size > 0 ? `?${query}` : "");
  return { method: form.dataset.method.toUpperCase(), address, headers, body };
}

async function send(form) {
  const request = requestOf(form);
  const started = performance.now();
  const ask = () =>
    fetch(url(request.address), {
      method: request.method,
      headers: { ...request.headers, ...headersFor() },
      ...(request.body === undefined ? {} : { body: request.body }),
    });
  let response = await ask();
  if (response.status === 401 && session && !part("token").value) {
    const { ok, value } = await post("/api/v1/auth/refresh", { refreshToken: session.refreshToken });
    if (ok) {
      session = { ...session, ...value };
      response = await ask();
    }
  }
  const type = response.headers.get("content-type") ?? "";
  const isText = /json|text|xml|csv/.test(type) && !type.includes("event-stream");
  const text = isText ? await response.text() : `(${type || "no content"})`;
  if (!isText) response.body?.cancel();
  const milliseconds = Math.round(performance.now() - started);
  return { response, milliseconds, text: type.includes("json") ? pretty(text) : text };
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function element(name, text, classes = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (classes) made.className = classes;
  return made;
}

const LONGEST = 100_000;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form.try")) return;
  event.preventDefault();
  const place = form.querySelector("[data-answer]");
  const hint = form.querySelector("[data-needs-sign-in]");
  hint.hidden = token() !== "" || form.dataset.open === "true";
  place.hidden = false;
  place.replaceChildren(element("p", "…"));
  try {
    const { response, milliseconds, text } = await send(form);
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n…` : text;
    const details = document.createElement("details");
    details.append(element("summary", "Headers"), element("pre", head));
    place.replaceChildren(
      element(
        "p",
        `${response.status} ${response.statusText} in ${milliseconds} ms`,
        response.ok ? "ok" : "error",
      ),
      element("pre", shown),
      details,
    );
    place.querySelector("pre").tabIndex = 0;
    const problem = /"type": "([^"]*\/problems\/[A-Z_]+)"/.exec(text)?.[1];
    if (problem) {
      const link = element("a", "What this code means and what to do");
      link.href = url(`problems/${problem.slice(problem.lastIndexOf("/") + 1)}`);
      place.firstChild.after(link);
    }
  } catch (error) {
    place.replaceChildren(element("p", `The request was not answered: ${error.message}`, "error"));
  }
});

/** The request as code in the shell and in JavaScript. */
function samplesOf(form) {
  const { method, address, headers, body } = requestOf(form);
  const isJson = headers["content-type"] === "application/json";
  const all = { authorization: "Bearer TOKEN", ...headers };
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const curl = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(url(address))}`,
    ...Object.entries(all).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    ...(isJson ? [`  -d ${quoted(body)}`] : []),
  ].join(" \\\n");
  const options = [
    `  method: "${method}",`,
    `  headers: ${JSON.stringify(all, null, 2).replaceAll("\n", "\n  ")},`,
    ...(isJson ? [`  body: JSON.stringify(${body.replaceAll("\n", "\n  ")}),`] : []),
  ].join("\n");
  const script = `const response = await fetch("${
    url(address)
  }", {\n${options}\n});\nconsole.log(response.status, await response.json());`;
  return [["Shell", curl], ["JavaScript", script]];
}

function showSamples(form) {
  const place = form.parentElement.querySelector("[data-samples]");
  place.replaceChildren(
    ...samplesOf(form).flatMap(([name, text]) => {
      const code = element("pre", text);
      code.tabIndex = 0;
      return [element("h4", name), code];
    }),
  );
}

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form.try");
  if (form) showSamples(form);
});

/** Loads an operation when it is opened for the first time. */
document.addEventListener("toggle", async ({ target }) => {
  const id = target.dataset?.operation;
  if (!id || !target.open || target.dataset.loaded) return;
  target.dataset.loaded = "true";
  const response = await fetch(url(`docs/operations/${id}`));
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  target.append(...parsed.querySelectorAll(".operation-body"));
  const form = target.querySelector("form.try");
  if (form) showSamples(form);
  target.dataset.loaded = "done";
}, true);

/** Opens the operation that the address names. */
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named?.matches("details.operation")) return;
  named.closest("[data-area]").open = true;
  named.open = true;
  named.scrollIntoView();
}
addEventListener("hashchange", openNamed);
openNamed();

const search = document.getElementById("docs-search");
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const area of document.querySelectorAll("[data-area]")) {
    let isAny = false;
    for (const operation of area.querySelectorAll("[data-operation]")) {
      const fits = words.every((word) => operation.dataset.words.includes(word));
      operation.hidden = !fits;
      isAny ||= fits;
      if (fits) found++;
    }
    area.hidden = !isAny;
    area.open = words.length > 0 && isAny;
  }
  document.querySelector("[data-found]").textContent = words.length > 0 ? `${found} operations` : "";
});
