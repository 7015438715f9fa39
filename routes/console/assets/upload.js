// Uploads a file from the browser directly to storage: reserve through the console, PUT to signed URLs (in parts if the
// reservation has parts), confirm through the console.
(() => {
  const form = document.querySelector("form[data-upload]");
  const texts = JSON.parse(form.dataset.texts);
  const profiles = JSON.parse(form.dataset.profiles);
  const { profile, file: chooser } = form.elements;
  const part = (name) => form.querySelector(`[data-upload-${name}]`);
  const [start, stop, progress, text, problem] = ["start", "cancel", "progress", "text", "problem"].map(part);
  const MAX_CONCURRENT = 3;
  const MAX_ATTEMPTS = 4;

  /** An error whose message is shown to the user. */
  class UserError extends Error {}

  const numbers = new Intl.NumberFormat(document.documentElement.lang === "pt" ? "pt-BR" : "en-GB", {
    maximumFractionDigits: 1,
  });
  function size(bytes) {
    const step = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
    return `${numbers.format(bytes / 1024 ** step)} ${["B", "KiB", "MiB", "GiB", "TiB"][step]}`;
  }
  const fill = (sentence, values) => sentence.replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
  const chosenProfile = () => profiles.find(({ name }) => name === profile.value);

  function showProfile() {
    for (const hint of form.querySelectorAll("[data-hint-of]")) {
      hint.hidden = hint.dataset.hintOf !== profile.value;
    }
    chooser.accept = chosenProfile()?.contentTypes.join(",") ?? "";
  }
  profile.addEventListener("change", showProfile);
  showProfile();

  let abort = null;
  stop.addEventListener("click", () => abort?.abort());
  addEventListener("beforeunload", (event) => {
    if (abort) event.preventDefault();
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (abort) return;
    problem.textContent = "";
    abort = new AbortController();
    show(true);
    try {
      const goTo = await upload(chooser.files[0], abort.signal);
      abort = null; // the upload is complete, so leaving the page loses nothing
      location.assign(new URL(goTo, document.baseURI));
    } catch (error) {
      const cancelled = abort?.signal.aborted;
      abort?.abort(); // stops the other parts
      abort = null;
      show(false);
      problem.textContent = cancelled
        ? texts.cancelled
        : error instanceof UserError
        ? error.message
        : texts.failed;
    }
  });

  function show(busy) {
    start.disabled = profile.disabled = chooser.disabled = busy;
    stop.hidden = !busy;
    progress.hidden = !busy;
  }

  async function upload(file, signal) {
    const { maxBytes } = chosenProfile();
    if (file.size === 0) throw new UserError(texts.empty);
    if (file.size > maxBytes) throw new UserError(fill(texts.tooLarge, { most: size(maxBytes) }));
    showStatus(texts.reserving, 0);
    const reservation = await postForm(form.action, {
      profile: profile.value,
      fileName: file.name,
      contentType: file.type,
      sizeBytes: file.size,
      isProduct: form.elements.isProduct?.checked ?? false,
    }, signal);
    const etags = await send(reservation, file, signal);
    showStatus(texts.confirming, 100);
    const { goTo } = await postForm(`files/${reservation.fileId}/complete`, { etag: etags }, signal);
    return form.dataset.goTo?.replace("{id}", reservation.fileId) ?? goTo;
  }

  /** Sends a form to the console and returns its JSON. @throws UserError with the refusal */
  async function postForm(address, values, signal) {
    const body = new FormData();
    body.set("csrf", form.elements.csrf.value);
    for (const [name, value] of Object.entries(values)) {
      for (const each of [value].flat()) body.append(name, each);
    }
    const answer = await fetch(new URL(address, document.baseURI), { method: "POST", body, signal });
    if (!answer.headers.get("content-type")?.startsWith("application/json")) {
      abort = null;
      location.reload(); // the session has ended or permissions have changed; the page shows which
      throw new UserError(texts.failed);
    }
    const result = await answer.json();
    if (result.problem) throw new UserError(result.problem);
    return result;
  }

  /** @returns the ETags of the parts; empty if the file was sent in one request. */
  async function send({ parts, uploadUrl, requiredHeaders }, file, signal) {
    const pieces = [];
    let from = 0;
    for (const { uploadUrl: url, requiredHeaders: headers, sizeBytes } of parts ?? []) {
      pieces.push({ url, headers, body: file.slice(from, from += sizeBytes), sent: 0 });
    }
    if (!parts) pieces.push({ url: uploadUrl, headers: requiredHeaders, body: file, sent: 0 });
    const showProgress = () => {
      const sent = pieces.reduce((sum, piece) => sum + piece.sent, 0);
      const percent = Math.floor(sent / file.size * 100);
      showStatus(fill(texts.sending, { sent: size(sent), total: size(file.size), percent }), percent);
    };
    const waiting = [...pieces];
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, async () => {
      for (let piece = waiting.shift(); piece; piece = waiting.shift()) {
        await putWithRetry(piece, showProgress, signal);
      }
    }));
    return parts ? pieces.map(({ etag }) => etag) : [];
  }

  /** Sends a piece. Retries after connection errors and 5xx responses, with exponential backoff. */
  async function putWithRetry(piece, onProgress, signal) {
    for (let tried = 1;; tried++) {
      const status = await put(piece, onProgress, signal);
      if (status >= 200 && status < 300) return;
      if (tried === MAX_ATTEMPTS || signal.aborted || (status >= 400 && status < 500)) {
        throw new Error(`storage: ${status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tried));
    }
  }

  /** @returns the HTTP status; 0 if there was no response. */
  function put(piece, onProgress, signal) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const setSent = (sent) => {
        piece.sent = sent;
        onProgress();
      };
      request.open("PUT", piece.url);
      for (const [name, value] of Object.entries(piece.headers)) {
        if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value); // the browser sets it
      }
      request.upload.addEventListener(
        "progress",
        (event) => setSent(Math.min(event.loaded, piece.body.size)),
      );
      request.addEventListener("loadend", () => {
        piece.etag = request.status ? request.getResponseHeader("etag") ?? "" : "";
        setSent(request.status >= 200 && request.status < 300 ? piece.body.size : 0);
        signal.removeEventListener("abort", end);
        resolve(request.status);
      });
      const end = () => request.abort();
      signal.addEventListener("abort", end);
      if (signal.aborted) return resolve(0);
      request.send(piece.body);
    });
  }

  function showStatus(message, percent) {
    text.textContent = message;
    progress.querySelector("progress").value = percent;
  }
})();
