import { define, h, pause, Refused, StewardElement, textTable } from "./base.js";

const texts = textTable({
  en: {
    title: "Upload files",
    choose: (isMany) => isMany ? "Choose files" : "Choose a file",
    drop: (isMany) => `or drop ${isMany ? "them" : "it"} here`,
    waiting: "Waiting",
    sending: (sent, total, percent) => `${sent} of ${total} (${percent}%)`,
    paused: "Paused",
    lost: "Interrupted. Choose the same file again to continue.",
    checking: "Uploaded, being checked for viruses…",
    ready: "Ready",
    pause: "Pause",
    resume: "Continue",
    remove: "Remove",
    emptyFile: "The file is empty.",
    storage: "The storage did not accept the file.",
    FILE_TOO_LARGE_UNPROCESSABLE: "The file is too large.",
    FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: "Files of this kind cannot be uploaded here.",
    FILE_INFECTED_CONFLICT: "A virus was found. The file was deleted.",
    FILE_PURGED_CONFLICT: "The file was refused: its content is not what it claims to be, or not allowed.",
    FILE_NOT_AVAILABLE_CONFLICT: "The file could not be checked, so nobody can open it.",
  },
  "pt-BR": {
    title: "Enviar arquivos",
    choose: (isMany) => isMany ? "Escolher arquivos" : "Escolher um arquivo",
    drop: (isMany) => `ou ${isMany ? "solte-os" : "solte-o"} aqui`,
    waiting: "Aguardando",
    sending: (sent, total, percent) => `${sent} de ${total} (${percent}%)`,
    paused: "Pausado",
    lost: "Interrompido. Escolha o mesmo arquivo para continuar.",
    checking: "Enviado, verificando se há vírus…",
    ready: "Pronto",
    pause: "Pausar",
    resume: "Continuar",
    remove: "Remover",
    emptyFile: "O arquivo está vazio.",
    storage: "O armazenamento não aceitou o arquivo.",
    FILE_TOO_LARGE_UNPROCESSABLE: "O arquivo é grande demais.",
    FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: "Arquivos deste tipo não podem ser enviados aqui.",
    FILE_INFECTED_CONFLICT: "Um vírus foi encontrado. O arquivo foi excluído.",
    FILE_PURGED_CONFLICT: "O arquivo foi recusado: o conteúdo não é o que diz ser, ou não é permitido.",
    FILE_NOT_AVAILABLE_CONFLICT: "O arquivo não pôde ser verificado, então ninguém pode abri-lo.",
  },
});

const PREFIX = "steward-upload";
const RUNNING = ["waiting", "sending"];
/** Parts whose checksums are sent at once. */
const PARTS_AT_ONCE = 8;
/** Attempts in a row without a new part, after which an upload fails. */
const MAX_ATTEMPTS = 8;
const RETRY_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const LONGEST_POLL_MS = 10_000;

/**
 * Uploads files in parts, which go on after a break, a pause and a reload of the page. An upload is `waiting`, `sending`,
 * `paused`, `lost` (the page was reloaded, so the file must be chosen again), `checking`, `ready` or `failed`.
 */
class StewardUpload extends StewardElement {
  static texts = texts;
  static observedAttributes = [...StewardElement.observedAttributes, "profile", "accept", "multiple"];
  static styles = `
    .drop { position: relative; display: block; margin: 0 16px 16px; padding: 24px 16px; text-align: center; cursor: pointer;
      border: 2px dashed var(--muted); border-radius: var(--radius); }
    .drop:hover, .drop.over { border-color: var(--accent); }
    .drop:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
    .drop strong { color: var(--accent); text-decoration: underline; text-underline-offset: 3px; }
    .drop input { position: absolute; inset: 0; opacity: 0; pointer-events: none; }
    .text { flex: 1 1 14em; }
    progress { appearance: none; display: block; width: 100%; height: 6px; margin-top: 8px; border: 0; border-radius: 3px;
      background: var(--line); overflow: hidden; }
    ::-webkit-progress-bar { background: var(--line); }
    ::-webkit-progress-value { background: var(--accent); }
    ::-moz-progress-bar { background: var(--accent); }
    .failed { color: var(--danger); }`;
  #uploads = [];
  #userId = "";
  #isOver = false;
  #sending = Promise.resolve();

  async start() {
    this.#userId = await this.userId();
    this.#uploads = [...this.#uploads.filter(({ state }) => state !== "lost"), ...this.#interrupted()];
    for (const upload of this.#uploads) if (upload.state === "checking") this.#check(upload);
  }

  disconnectedCallback() {
    for (const upload of this.#uploads) {
      if (RUNNING.includes(upload.state)) this.#pause(upload);
      upload.stop?.abort();
    }
    super.disconnectedCallback();
  }

  /** Uploads that an earlier visit of the page left unfinished, from the browser's storage. */
  #interrupted() {
    const keys = stored((storage) => Object.keys(storage)) ?? [];
    const own = keys.filter((key) => key.startsWith(this.#keyOf("")));
    return own.filter((key) => !this.#uploads.some((upload) => upload.key === key)).map((key) => {
      const [size, , ...name] = key.slice(this.#keyOf("").length).split(":");
      return { key, name: name.join(":"), size: Number(size), file: null, state: "lost", sent: 0 };
    });
  }

  /** The key in the browser's storage. It names the user, because several may share the browser. */
  #keyOf(rest) {
    return [PREFIX, this.url(""), this.#userId, this.getAttribute("profile"), rest].join(" ");
  }

  #add(files) {
    for (const file of this.hasAttribute("multiple") ? files : [...files].slice(0, 1)) {
      const { name, size, lastModified } = file;
      const key = this.#keyOf(`${size}:${lastModified}:${name}`);
      const known = this.#uploads.find((upload) => upload.key === key);
      if (known && [...RUNNING, "checking"].includes(known.state)) continue;
      const upload = { key, name, size, file, sent: 0 };
      this.#uploads = [upload, ...this.#uploads.filter((other) => other !== known)];
      this.#begin(upload);
    }
  }

  /** Sends a file when those before it are sent. */
  #begin(upload) {
    upload.stop = new AbortController();
    this.#set(upload, "waiting");
    this.#sending = this.#sending.then(() => this.#run(upload));
  }

  async #run(upload) {
    const { signal } = upload.stop;
    if (signal.aborted) return;
    try {
      if (upload.size === 0) throw new Refused(400, { code: "emptyFile" });
      this.#set(upload, "sending");
      await this.#send(upload, signal);
      stored((storage) => storage.removeItem(upload.key));
      this.#set(upload, "checking");
      this.tell("uploaded", { fileId: upload.fileId, fileName: upload.name });
      this.#check(upload);
    } catch (error) {
      this.#fail(upload, error, signal);
    }
  }

  /** Reserves the file or goes on with an earlier reservation, sends what the storage lacks, and confirms. */
  async #send(upload, signal) {
    const { file, key, name, size } = upload;
    for (let isLast = false;; isLast = true) {
      const earlier = upload.fileId ?? stored((storage) => storage.getItem(key));
      const fileId = upload.fileId = earlier ?? await this.#reserve({ file, name, size }, signal);
      stored((storage) => storage.setItem(key, fileId));
      try {
        const parts = await this.#sendParts(upload, `/files/${fileId}/parts`, signal);
        const body = parts.length > 0 ? { parts } : undefined;
        return await this.request("POST", `/files/${fileId}/complete`, { body, signal });
      } catch (error) {
        const isGone = error instanceof Refused && [403, 404, 409].includes(error.status);
        if (!earlier || !isGone || isLast) throw error;
        upload.fileId = undefined; // the earlier reservation has ended
        stored((storage) => storage.removeItem(key));
      }
    }
  }

  async #reserve({ file, name, size }, signal) {
    const profile = this.getAttribute("profile") ?? "document";
    const contentType = file.type || "application/octet-stream";
    const body = { profile, fileName: name, contentType, sizeBytes: size, parts: true };
    return (await this.request("POST", "/files", { body, signal })).value.fileId;
  }

  /** Sends the parts that the storage lacks, until it has all. @returns them for the confirmation */
  async #sendParts(upload, path, signal) {
    let next = [];
    let most = 0;
    let isChecked = true;
    for (let failures = 0;;) {
      try {
        const checksums = isChecked ? await checksumsOf(next) : [];
        const { value: { received, parts } } = await this.request("POST", path, {
          body: { checksums },
          signal,
        });
        if (parts.length === 0) return received.map(({ partNumber, etag }) => ({ partNumber, etag }));
        if (received.length > most) failures = 0;
        most = Math.max(most, received.length);
        let sent = received.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        const count = received.length + parts.length;
        const missing = parts.map((part) => ({ ...part, bytes: bytesOf(upload.file, part, count) }));
        const signed = new Set(next.map(({ partNumber }) => partNumber));
        next = missing.slice(0, PARTS_AT_ONCE); // a failure tries these again
        for (const part of missing.filter(({ partNumber }) => signed.has(partNumber))) {
          await put(part, signal, (bytes) => this.#show(upload, sent + bytes));
          this.#show(upload, sent += part.sizeBytes);
        }
        next = missing.filter(({ partNumber }) => !signed.has(partNumber)).slice(0, PARTS_AT_ONCE);
      } catch (error) {
        if (error.storageStatus === 403) isChecked = false; // some stores know no checksums
        if (signal.aborted || error.isFinal || ++failures === MAX_ATTEMPTS) throw error;
        await pause(Math.min(RETRY_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS), signal);
      }
    }
  }

  /** Waits for the end of the scan. A repeated confirmation answers it, also to who may upload but not read files. */
  async #check(upload) {
    upload.stop.abort();
    const { signal } = upload.stop = new AbortController();
    const path = `/files/${upload.fileId}/complete`;
    try {
      for (let wait = 400, isReady = false; !isReady; wait = Math.min(wait * 1.5, LONGEST_POLL_MS)) {
        await pause(wait, signal);
        const answer = await this.request("POST", path, { signal }).catch((error) => {
          if (signal.aborted || error.isFinal) throw error; // otherwise the connection will come back
        });
        isReady = answer?.value.status === "Available";
      }
      this.#set(upload, "ready");
      this.tell("scanned", { fileId: upload.fileId, fileName: upload.name, isAvailable: true });
    } catch (error) {
      this.#fail(upload, error, signal);
    }
  }

  #fail(upload, error, signal) {
    if (signal.aborted) return;
    if (upload.state === "checking" && error.status === 409) {
      this.tell("scanned", { fileId: upload.fileId, fileName: upload.name, isAvailable: false });
    }
    if (error.isFinal && error.status !== 401) upload.file = null; // the same file would be refused again
    upload.problem = this.textOf(error);
    this.tell("error", { code: error.code, message: upload.problem });
    this.#set(upload, "failed");
  }

  #remove(upload) {
    upload.stop?.abort();
    stored((storage) => storage.removeItem(upload.key));
    this.#uploads = this.#uploads.filter((other) => other !== upload);
    this.draw();
  }

  #set(upload, state) {
    upload.state = state;
    if (RUNNING.includes(state)) this.draw();
    else this.say(`${upload.name}: ${this.#stateText(upload)}`);
  }

  #show(upload, sent) {
    upload.sent = sent;
    this.draw();
  }

  #stateText({ state, sent, size, problem }) {
    const { t, language: { locale } } = this;
    if (state === "failed") return problem;
    if (state !== "sending") return t[state];
    return t.sending(byteText(sent, locale), byteText(size, locale), percentOf(sent, size));
  }

  content() {
    const uploads = this.#uploads.map((upload) => this.#row(upload));
    return [
      this.#dropZone(),
      uploads.length > 0 && h("ul", { part: "list", "aria-labelledby": "title" }, uploads),
    ];
  }

  #dropZone() {
    const { t } = this;
    const multiple = this.hasAttribute("multiple");
    const over = (isOver) => (event) => {
      event.preventDefault();
      if (isOver !== this.#isOver) this.draw();
      this.#isOver = isOver;
    };
    const onchange = ({ target }) => {
      this.#add(target.files);
      target.value = ""; // the same file may be chosen again
    };
    return h(
      "label",
      {
        class: this.#isOver ? "drop over" : "drop",
        part: "dropzone",
        ondragover: over(true),
        ondragleave: over(false),
        ondrop: (event) => {
          over(false)(event);
          this.#add(event.dataTransfer.files);
        },
      },
      h("input", {
        type: "file",
        accept: this.getAttribute("accept"),
        multiple,
        onchange,
      }),
      h("strong", {}, t.choose(multiple)),
      ` ${t.drop(multiple)}`,
    );
  }

  #row(upload) {
    const { t } = this;
    const { key, name, state, sent, size, file } = upload;
    const action = (label, run) => this.button(label, run, { "aria-label": `${label}: ${name}` });
    return h(
      "li",
      { "data-key": key, tabindex: "-1", class: "row", part: `item ${state}` },
      h(
        "div",
        { class: "text" },
        h("h3", { part: "item-title" }, name),
        h("p", { class: state === "failed" ? "failed" : "muted" }, this.#stateText(upload)),
        ["sending", "paused"].includes(state) &&
          h("progress", { max: "100", value: percentOf(sent, size), part: "progress", "aria-label": name }),
      ),
      h(
        "div",
        { class: "row" },
        RUNNING.includes(state) && action(t.pause, () => this.#pause(upload)),
        state === "paused" && action(t.resume, () => this.#begin(upload)),
        state === "failed" && file && action(t.tryAgain, () => this.#begin(upload)),
        state !== "checking" && action(t.remove, () => this.#remove(upload)),
      ),
    );
  }

  #pause(upload) {
    upload.stop.abort();
    this.#set(upload, "paused");
  }
}

/** Does something with the browser's storage; null if the browser has none for this page. */
function stored(work) {
  try {
    return work(localStorage);
  } catch {
    return null;
  }
}

/** All parts but the last have one size, so the place of a part follows from its number. */
function bytesOf(file, { partNumber, sizeBytes }, count) {
  const start = partNumber === count ? file.size - sizeBytes : (partNumber - 1) * sizeBytes;
  return file.slice(start, start + sizeBytes);
}

/** The SHA-256 of parts; none on a page without https, where browsers compute none. */
async function checksumsOf(parts) {
  const { subtle } = globalThis.crypto;
  if (!subtle) return [];
  const checksums = [];
  for (const { partNumber, bytes } of parts) {
    const digest = new Uint8Array(await subtle.digest("SHA-256", await bytes.arrayBuffer()));
    const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    checksums.push({ partNumber, sha256 });
  }
  return checksums;
}

/** Sends a part. `fetch` tells no progress of an upload. @throws Refused with `storageStatus`, 0 without an answer */
function put({ uploadUrl, requiredHeaders, bytes }, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const end = () => request.abort();
    request.open("PUT", uploadUrl);
    for (const [name, value] of Object.entries(requiredHeaders)) {
      if (!/^(host|content-length)$/i.test(name)) request.setRequestHeader(name, value); // the browser sets these
    }
    request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, bytes.size));
    request.onloadend = () => {
      signal.removeEventListener("abort", end);
      const { status } = request;
      if (signal.aborted) reject(signal.reason);
      else if (status >= 200 && status < 300) resolve();
      else reject(Object.assign(new Refused(0, { code: "storage" }), { storageStatus: status }));
    };
    signal.throwIfAborted();
    signal.addEventListener("abort", end);
    request.send(bytes);
  });
}

const percentOf = (sent, size) => Math.floor(sent / (size || 1) * 100);
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
function byteText(bytes, locale) {
  const step = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const number = { style: "unit", unit: UNITS[step], unitDisplay: "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, number).format(bytes / 1000 ** step);
}

define("steward-upload", StewardUpload);
