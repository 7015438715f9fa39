import { z } from "zod";
import {
  confirmEmailChange,
  readEmailChangeTenant,
  requestEmailChange,
} from "../../domain/access/account/email_change.ts";
import { afterStepUp, anyone, byPerson, signedIn } from "../../domain/rights/checks.ts";
import { HostedLooksDto, readHostedLooks } from "../looks/hosted_page.ts";
import { noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { mailAddress } from "../../domain/shared/shapes.ts";
import { confirmationPage } from "./mailed_page.ts";

const endpoint = endpointsIn("Sign-in");

/** Change of the caller's email, confirmed with a mailed link. */
export const emailChangeRoutes = [
  endpoint("POST /api/v1/auth/change-email", {
    alsoAt: ["/auth/change-email"],
    id: "changeEmail",
    summary: "Request a link to a new email; the answer is the same if the email is taken",
    details:
      "The current email is told at the request and at the change. The link works once and for 30 minutes. If the new " +
      "email belongs to another account, its owner is told instead.",
    access: afterStepUp(byPerson(signedIn)),
    body: z.object({
      newEmail: mailAddress,
      password: z.string().min(1).max(1024),
    }).meta({ id: "ChangeEmailRequest" }),
    answers: { 202: { description: "A link is sent if the email is free" } },
    problems: ["ACCOUNT_LOCKED_UNAUTHORIZED"],
    async run({ platform, caller, body }) {
      await requestEmailChange(platform, caller, body);
      return { status: 202, headers: {}, body: undefined };
    },
  }),
  endpoint("POST /api/v1/auth/confirm-email", {
    alsoAt: ["/auth/confirm-email"],
    id: "confirmEmail",
    summary: "Change the email with the token of a link; ends the user's sessions except the one that asked",
    access: anyone,
    body: z.object({ token: z.string().min(1).max(200) }).meta({ id: "ConfirmEmailRequest" }),
    answers: { 204: { description: "The email is changed" } },
    problems: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
    run: ({ platform, body, call }) =>
      noContentAfter(confirmEmailChange(platform, { ...body, traceId: call.traceId, ip: call.ip })),
  }),
  endpoint("POST /api/v1/auth/confirm-email/looks", {
    alsoAt: ["/auth/confirm-email/looks"],
    id: "readConfirmEmailLooks",
    summary: "Read how the page of a link to a new email looks: like the tenant that its user signs in to",
    access: anyone,
    body: z.object({ token: z.string().min(1).max(200) }).meta({ id: "ReadConfirmEmailLooksRequest" }),
    answers: { 200: { description: "The looks", schema: HostedLooksDto } },
    problems: ["EMAIL_TOKEN_INVALID"],
    run: async ({ platform, body }) =>
      ok(await readHostedLooks(platform, await readEmailChangeTenant(platform.sql, body.token))),
  }),
  endpoint("GET /auth/confirm-email", {
    id: "showConfirmPage",
    summary: "The page of a link to a new email",
    access: anyone,
    answers: { 200: { description: "A button that confirms the email", contentType: "text/html" } },
    run: ({ platform, call }) => confirmPage(platform, call.request),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Confirm your new email",
    incomplete: "This link is incomplete. Request a new one.",
    explanation: "From now on, you sign in with the new email. Your other sessions end.",
    confirm: "Confirm the email",
    done: "Done. Sign in with the new email from now on.",
  },
  pt: {
    title: "Confirme seu novo e-mail",
    incomplete: "Este link está incompleto. Peça um novo.",
    explanation: "A partir de agora, entra com o novo e-mail. Suas outras sessões terminam.",
    confirm: "Confirmar o e-mail",
    done: "Pronto. A partir de agora, entre com o novo e-mail.",
  },
};

/** The page that confirms a new email. */
const confirmPage = confirmationPage({
  texts: TEXTS,
  explained: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
  action: "confirm-email",
  looksFrom: "confirm-email/looks",
});
