import { page } from "../operations/page.ts";
import { pagePolicy } from "./page_policy.ts";

const SCRIPT = `
const form = document.querySelector("form"), note = document.querySelector("output");
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
history.replaceState(null, "", location.pathname);
if (!token) { form.hidden = true; note.textContent = "This link is incomplete. Ask for a new one."; }
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const newPassword = form.password.value;
  if (newPassword !== form.repeated.value) { note.textContent = "The two passwords differ."; return; }
  form.button.disabled = true;
  try {
    const answer = await fetch(location.pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, newPassword }),
    });
    if (answer.ok) { form.hidden = true; note.textContent = "Done. Sign in with the new password."; return; }
    const refusal = await answer.json();
    note.textContent = refusal.errors?.join(" ") ?? refusal.detail;
  } catch { note.textContent = "The service could not be reached. Try again."; }
  form.button.disabled = false;
});`;

export const RESET_PAGE_POLICY = pagePolicy(SCRIPT);

/** A form that posts the token of the URL fragment and a new password to the page's own path. */
export const RESET_PAGE = page(
  "Set a new password",
  `<h1>Set a new password</h1>
<form>
<p><label>New password<br><input name="password" type="password" minlength="12" required
 autocomplete="new-password"></label></p>
<p><label>Once more<br><input name="repeated" type="password" required autocomplete="new-password"></label></p>
<p><button name="button">Set password</button></p>
</form>
<p><output></output></p>
<script>${SCRIPT}</script>`,
);
