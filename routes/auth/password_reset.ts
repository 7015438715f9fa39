import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import {
  readResetTenant,
  requestPasswordReset,
  resetPassword,
} from "../../domain/access/account/password_changes.ts";
import { HostedLooksDto, readHostedLooks } from "../looks/hosted_page.ts";
import { acceptedAfter, noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { deviceToken } from "./shapes.ts";
import { PASSWORD_LENGTH } from "../../domain/access/passwords/password_rules.ts";
import { escapeHtml } from "../shared/html.ts";
import { mailedPage, mailedToken as token } from "./mailed_page.ts";

const endpoint = endpointsIn("Sign-in", "/auth");

/** Password reset with a mailed link. */
export const passwordResetRoutes = [
  endpoint("POST /api/v1/auth/forgot-password", {
    id: "forgotPassword",
    summary: "Request a reset link by mail; the answer is the same for unknown addresses",
    access: anyone,
    details:
      "One requester gets at most five links in 30 minutes for one email: a device that sends its `deviceToken`, otherwise " +
      "a network address. All network addresses together get at most 20.",
    body: z.object({ email: z.string().trim().min(1).max(320), deviceToken })
      .meta({ id: "ForgotPasswordRequest" }),
    answers: { 202: { description: "A link is sent if an active user has this address" } },
    run: ({ platform, body, call }) =>
      acceptedAfter(requestPasswordReset(platform, { ...body, ip: call.ip })),
  }),
  endpoint("POST /api/v1/auth/reset-password", {
    id: "resetPassword",
    service: "waits for others",
    summary: "Set a new password with the token of a reset link; ends all sessions of the user",
    access: anyone,
    body: z.object({ token, newPassword: z.string().max(1024) })
      .meta({ id: "ResetPasswordRequest" }),
    answers: { 204: { description: "The password is changed" } },
    problems: ["RESET_TOKEN_INVALID"],
    run: ({ platform, body, call }) =>
      noContentAfter(resetPassword(platform, { ...body, traceId: call.traceId, ip: call.ip })),
  }),
  endpoint("POST /api/v1/auth/reset-password/looks", {
    id: "readResetLooks",
    summary: "Read how the page of a reset link looks: those of the tenant that its user signs in to",
    access: anyone,
    body: z.object({ token }).meta({ id: "ReadResetLooksRequest" }),
    answers: { 200: { description: "The looks", schema: HostedLooksDto } },
    problems: ["RESET_TOKEN_INVALID"],
    run: async ({ platform, body }) =>
      ok(await readHostedLooks(platform, await readResetTenant(platform.sql, body.token))),
  }),
  endpoint("GET /auth/reset-password", {
    id: "showResetPage",
    summary: "The page of a reset link, unless RESET_URL is set",
    access: anyone,
    answers: { 200: { description: "A form for the new password", contentType: "text/html" } },
    run: ({ platform, call }) => resetPage(platform, call.request),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Set a new password",
    incomplete: "This link is incomplete. Ask for a new one.",
    explanation: `At least ${PASSWORD_LENGTH.min} characters. All your sessions end.`,
    set: "Set password",
    done: "Done. Sign in with the new password.",
  },
  pt: {
    title: "Definir uma nova senha",
    incomplete: "Este link está incompleto. Peça um novo.",
    explanation: `Pelo menos ${PASSWORD_LENGTH.min} caracteres. Todas as suas sessões terminam.`,
    set: "Definir a senha",
    done: "Pronto. Entre com a nova senha.",
  },
};

/** A form that sets a new password. */
const resetPage = mailedPage({
  texts: TEXTS,
  explained: ["RESET_TOKEN_INVALID"],
  looksFrom: "reset-password/looks",
  body: (t) =>
    `<form>
<p>${escapeHtml(t.explanation)}</p>
<p><label>${t.newPassword}<br><input name="password" type="password" minlength="${PASSWORD_LENGTH.min}" required
 autocomplete="new-password"></label></p>
<p><label>${t.repeated}<br><input name="repeated" type="password" required autocomplete="new-password"></label></p>
<p><button name="button">${t.set}</button></p>
</form>`,
  script: `
const form = document.querySelector("form");
form.hidden = !token;
sendOnSubmit(form, "reset-password", () => ({ newPassword: form.password.value }));`,
});
