// Sends a file from the browser straight to storage: reserved and confirmed through the console, in parts when the
// reservation has some.
(() => {
  const form = document.querySelector("form[data-upload]");
  const words = JSON.parse(form.dataset.words);
  const profiles = JSON.parse(form.dataset.profiles);
  const { profile, file: chooser } = form.elements;
  const part = (name) => form.querySelector(`[data-upload-${name}]`);
  const [start, stop, progress, text, problem] = ["start", "cancel", "progress", "text", "problem"].map(part);
  const AT_ONCE = 3;
  const TRIES = 4;

  /** What is told to the person, in place of anything else. */
  class Told extends Error {}

  const numbers = new Intl.NumberFormat(document.documentElement.lang === "pt" ? "pt-PT" : "en-GB", {
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
      abort = null; // nothing is lost any more by leaving
      location.assign(new URL(goTo, document.baseURI));
    } catch (error) {
      const cancelled = abort?.signal.aborted;
      abort?.abort(); // parts still under way
      abort = null;
      show(false);
      problem.textContent = cancelled
        ? words.cancelled
        : error instanceof Told
        ? error.message
        : words.failed;
    }
  });

  function show(busy) {
    start.disabled = profile.disabled = chooser.disabled = busy;
    stop.hidden = !busy;
    progress.hidden = !busy;
  }

  async function upload(file, signal) {
    const { maxBytes } = chosenProfile();
    if (file.size === 0) throw new Told(words.empty);
    if (file.size > maxBytes) throw new Told(fill(words.tooLarge, { most: size(maxBytes) }));
    tell(words.reserving, 0);
    const reservation = await ask(form.action, {
      profile: profile.value,
      fileName: file.name,
      contentType: file.type,
      sizeBytes: file.size,
      isProduct: form.elements.isProduct?.checked ?? false,
    }, signal);
    const etags = await send(reservation, file, signal);
    tell(words.confirming, 100);
    const { goTo } = await ask(`files/${reservation.fileId}/complete`, { etag: etags }, signal);
    return goTo;
  }

  /** Asks the console. @throws Told with its refusal */
  async function ask(address, values, signal) {
    const body = new FormData();
    body.set("csrf", form.elements.csrf.value);
    for (const [name, value] of Object.entries(values)) {
      for (const each of [value].flat()) body.append(name, each);
    }
    const answer = await fetch(new URL(address, document.baseURI), { method: "POST", body, signal });
    if (!answer.headers.get("content-type")?.startsWith("application/json")) {
      abort = null;
      location.reload(); // the session has ended, or the rights with it: the page says so
      throw new Told(words.failed);
    }
    const said = await answer.json();
    if (said.problem) throw new Told(said.problem);
    return said;
  }

  /** @returns the ETags of the parts; none for a content put whole. */
  async function send({ parts, uploadUrl, requiredHeaders }, file, signal) {
    const pieces = [];
    let from = 0;
    for (const { uploadUrl: url, requiredHeaders: headers, sizeBytes } of parts ?? []) {
      pieces.push({ url, headers, body: file.slice(from, from += sizeBytes), sent: 0 });
    }
    if (!parts) pieces.push({ url: uploadUrl, headers: requiredHeaders, body: file, sent: 0 });
    const tellAll = () => {
      const sent = pieces.reduce((sum, piece) => sum + piece.sent, 0);
      const percent = Math.floor(sent / file.size * 100);
      tell(fill(words.sending, { sent: size(sent), total: size(file.size), percent }), percent);
    };
    const waiting = [...pieces];
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let piece = waiting.shift(); piece; piece = waiting.shift()) await persist(piece, tellAll, signal);
    }));
    return parts ? pieces.map(({ etag }) => etag) : [];
  }

  /** Puts a piece, again when the connection broke or storage was busy. */
  async function persist(piece, onProgress, signal) {
    for (let tried = 1;; tried++) {
      const status = await put(piece, onProgress, signal);
      if (status >= 200 && status < 300) return;
      if (tried === TRIES || signal.aborted || (status >= 400 && status < 500)) {
        throw new Error(`storage: ${status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tried));
    }
  }

  /** @returns the status; 0 where there was no answer. */
  function put(piece, onProgress, signal) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const moved = (sent) => {
        piece.sent = sent;
        onProgress();
      };
      request.open("PUT", piece.url);
      for (const [name, value] of Object.entries(piece.headers)) {
        if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value); // that one is the browser's
      }
      request.upload.addEventListener("progress", (event) => moved(Math.min(event.loaded, piece.body.size)));
      request.addEventListener("loadend", () => {
        piece.etag = request.status ? request.getResponseHeader("etag") ?? "" : "";
        moved(request.status >= 200 && request.status < 300 ? piece.body.size : 0);
        signal.removeEventListener("abort", end);
        resolve(request.status);
      });
      const end = () => request.abort();
      signal.addEventListener("abort", end);
      if (signal.aborted) return resolve(0);
      request.send(piece.body);
    });
  }

  function tell(sentence, percent) {
    text.textContent = sentence;
    progress.querySelector("progress").value = percent;
  }
})();
