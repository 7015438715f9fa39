import { z } from "zod";
import { anyone } from "../../domain/access/checks.ts";
import { requestPasswordReset, resetPassword } from "../../domain/auth/password_reset.ts";
import { noContent, text } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { RESET_PAGE, RESET_PAGE_POLICY } from "./reset_page.ts";

/** Setting a new password by a link that is mailed. */
export const passwordResetRoutes: Endpoint[] = [
  endpoint({
    method: "post",
    path: "/api/v1/auth/forgot-password",
    alsoAt: ["/auth/forgot-password"],
    area: "Sign-in",
    id: "forgotPassword",
    summary: "Have a reset link mailed; the answer never tells whether the email is known",
    access: anyone,
    body: z.object({ email: z.string().trim().min(1).max(320) }).meta({ id: "ForgotPasswordRequest" }),
    answers: { 202: { description: "A link is on its way to the user of this email, if there is one" } },
    problems: [],
    async run({ platform, body }) {
      await requestPasswordReset(platform, body.email);
      return { status: 202, headers: {}, body: undefined };
    },
  }),
  endpoint({
    method: "post",
    path: "/api/v1/auth/reset-password",
    alsoAt: ["/auth/reset-password"],
    area: "Sign-in",
    id: "resetPassword",
    summary: "Set a new password by the token of a reset link; ends every session of the user",
    access: anyone,
    body: z.object({ token: z.string().min(1).max(200), newPassword: z.string().max(1024) })
      .meta({ id: "ResetPasswordRequest" }),
    answers: { 204: { description: "The new password counts" } },
    problems: ["RESET_TOKEN_INVALID"],
    async run({ platform, body, call }) {
      await resetPassword(platform, { ...body, traceId: call.traceId, ip: call.ip });
      return noContent();
    },
  }),
  endpoint({
    method: "get",
    path: "/auth/reset-password",
    area: "Sign-in",
    id: "showResetPage",
    summary: "The page a reset link leads to unless RESET_URL names another",
    access: anyone,
    answers: { 200: { description: "A form for the new password", contentType: "text/html" } },
    problems: [],
    run: () =>
      text(RESET_PAGE, "text/html; charset=utf-8", {
        "content-security-policy": RESET_PAGE_POLICY,
        "referrer-policy": "no-referrer",
      }),
  }),
];
