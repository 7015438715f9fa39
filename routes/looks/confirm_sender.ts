import { z } from "zod";
import { confirmSender, readConfirmedTenant } from "../../domain/looks/senders/verify.ts";
import { CONFIRM_SENDER_PATH } from "../../domain/notifications/sending/service_notices.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { confirmationPage } from "../auth/mailed_page.ts";
import { noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { HostedLooksDto, readHostedLooks } from "./hosted_page.ts";

const endpoint = endpointsIn("Looks");

const TEXTS = {
  en: {
    title: "Confirm the sender address",
    incomplete: "This link is incomplete. Open the whole link of the mail.",
    explanation: "Whoever asked for it can then send mail from your address.",
    confirm: "Confirm the address",
    done: "Done. The address is confirmed.",
  },
  pt: {
    title: "Confirme o endereço de remetente",
    incomplete: "Este link está incompleto. Abra o link completo da mensagem.",
    explanation: "Quem o pediu poderá então enviar mensagens do seu endereço.",
    confirm: "Confirmar o endereço",
    done: "Pronto. O endereço está confirmado.",
  },
};

const confirmSenderPage = confirmationPage({
  texts: TEXTS,
  explained: ["NOTIFICATION_SENDER_TOKEN_INVALID"],
  action: "confirm",
  looksFrom: "confirm/looks",
});

const token = z.string().min(1).max(200);

/** The mailed link that proves a sender address. */
export const confirmSenderRoutes = [
  endpoint(`GET ${CONFIRM_SENDER_PATH}`, {
    id: "showConfirmSenderPage",
    access: anyone,
    summary: "The page of a mailed link; it asks for confirmation and changes nothing",
    answers: { 200: { description: "A page in English or Portuguese", contentType: "text/html" } },
    run: ({ platform, call }) => confirmSenderPage(platform, call.request),
  }),
  endpoint(`POST ${CONFIRM_SENDER_PATH}/looks`, {
    id: "readConfirmSenderLooks",
    access: anyone,
    summary: "Read how the page of a mailed link looks: like the tenant that asks",
    body: z.object({ token }).meta({ id: "ReadConfirmSenderLooksRequest" }),
    answers: { 200: { description: "The looks", schema: HostedLooksDto } },
    problems: ["NOTIFICATION_SENDER_TOKEN_INVALID"],
    run: async ({ platform, body }) =>
      ok(await readHostedLooks(platform, await readConfirmedTenant(platform.sql, body.token))),
  }),
  endpoint(`POST ${CONFIRM_SENDER_PATH}`, {
    id: "confirmNotificationSender",
    access: anyone,
    summary: "Confirm a sender address with the token of a mailed link",
    body: z.object({ token }).meta({ id: "ConfirmNotificationSenderRequest" }),
    answers: { 204: { description: "The address is verified" } },
    problems: ["NOTIFICATION_SENDER_TOKEN_INVALID"],
    run: ({ db, body: { token }, call: { traceId, ip } }) =>
      noContentAfter(confirmSender(db, token, { traceId, ip })),
  }),
] as const;
