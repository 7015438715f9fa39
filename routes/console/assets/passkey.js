// Forms with `data-passkey` ("get" or "create"): before such a form is sent, the browser asks for a passkey, and the answer
// goes into the field `passkey`. The options are in `data-options`, or come from the address `data-options-url`.
const parsers = globalThis.PublicKeyCredential && {
  get: PublicKeyCredential.parseRequestOptionsFromJSON,
  create: PublicKeyCredential.parseCreationOptionsFromJSON,
};

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (parsers?.[form.dataset.passkey]) form.hidden = false;
  else form.parentElement.querySelector("[data-no-passkeys]")?.removeAttribute("hidden");
}

async function optionsOf({ options, optionsUrl }) {
  if (options) return JSON.parse(options);
  const answer = await fetch(optionsUrl, { method: "POST" });
  if (!answer.ok) throw new Error(`the options were refused with ${answer.status}`);
  return await answer.json();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const kind = form.dataset?.passkey;
  if (!kind || form.elements.passkey.value) return;
  event.preventDefault();
  const error = form.querySelector("[data-passkey-error]");
  error.hidden = true;
  try {
    const publicKey = parsers[kind].call(PublicKeyCredential, await optionsOf(form.dataset));
    const credential = await navigator.credentials[kind]({ publicKey });
    form.elements.passkey.value = JSON.stringify(credential.toJSON());
    form.requestSubmit(event.submitter);
  } catch {
    error.hidden = false; // cancelled, timed out, or no passkey of this site
    error.focus();
  }
}, true);
