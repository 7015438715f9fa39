import { z } from "zod";
import { addSender, removeSender, updateSender } from "../../domain/looks/senders/change.ts";
import {
  listSenders,
  readSender,
  recordName,
  type Sender,
  SENDER_METHODS,
  SenderDto,
} from "../../domain/looks/sender.ts";
import { confirmSender, readConfirmedTenant, verifySender } from "../../domain/looks/senders/verify.ts";
import { anyone, inTenant } from "../../domain/rights/checks.ts";
import { createdVersioned, noContentAfter, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { enumName, mailAddress, requiredName, uuid } from "../../domain/shared/shapes.ts";
import { CONFIRM_SENDER_PATH } from "../../domain/notifications/sending/service_notices.ts";
import { confirmationPage } from "../auth/mailed_page.ts";
import { HostedLooksDto, readHostedLooks } from "./hosted_page.ts";

const endpoint = endpointsIn("Looks");

const path = "/api/v1/notification-senders";
const read = inTenant("manage:settings", "send:notifications");
const write = inTenant("manage:settings");
const params = z.object({ id: uuid });

const shown = (sender: Sender) => {
  const { tenantId: _, dnsValue, misses: __, version: ___, proofEndsAt, ...rest } = sender;
  return {
    ...rest,
    proofEndsAt: sender.status === "Pending" ? proofEndsAt : null,
    dnsRecord: dnsValue === null ? null : { name: recordName(sender), value: dnsValue },
  };
};

const name = requiredName(100).nullable().describe("Shown by mail programs; null: the product name");
const sender = { etag: true, description: "The sender", schema: SenderDto } as const;

/** Addresses that the tenant sends mail from. */
export const senderRoutes = [
  endpoint(`GET ${path}`, {
    id: "listNotificationSenders",
    access: read,
    summary: "List the tenant's sender addresses",
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of senders", schema: pagedResultOf(SenderDto) } },
    async run({ db, caller, query }) {
      const { items, ...rest } = await listSenders(db, caller.tenantId, query);
      return ok({ items: items.map(shown), ...rest });
    },
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readNotificationSender",
    access: read,
    params,
    summary: "Read a sender address",
    answers: { 200: sender },
    problems: ["NOTIFICATION_SENDER_NOT_FOUND"],
    async run({ db, caller, params: { id } }) {
      const found = await readSender(db, caller.tenantId, id);
      return okVersioned(shown(found), found.version);
    },
  }),
  endpoint(`POST ${path}`, {
    id: "addNotificationSender",
    service: "waits for others",
    access: write,
    summary: "Add a sender address, proved by a TXT record of its domain or by a link mailed to it",
    body: z.object({
      address: mailAddress,
      name: name.default(null),
      method: enumName(SENDER_METHODS).default("Dns"),
    }).meta({ id: "AddNotificationSenderRequest" }),
    creates: "atomically",
    answers: { 201: { ...sender, description: "The pending sender" } },
    problems: [
      "NOTIFICATION_SENDER_ALREADY_EXISTS",
      "NOTIFICATION_SENDERS_LIMIT_CONFLICT",
      "NOTIFICATION_TEMPLATE_NOT_FOUND",
      "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
    ],
    async run({ platform, caller, body }) {
      const added = await addSender(platform, caller, body);
      return createdVersioned(shown(added), `${path}/${added.id}`, added.version);
    },
  }),
  endpoint(`PUT ${path}/{id}`, {
    id: "updateNotificationSender",
    service: "waits for others",
    access: write,
    params,
    summary: "Change the name of a sender, or make it the default; omitted members keep their values",
    body: z.object({
      name: name.optional(),
      isDefault: z.boolean().optional(),
    }).meta({ id: "UpdateNotificationSenderRequest" }),
    answers: { 200: sender },
    problems: [
      "NOTIFICATION_SENDER_NOT_FOUND",
      "NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT",
      "PRECONDITION_FAILED",
    ],
    async run({ db, caller, params: { id }, body, call }) {
      const changed = await updateSender(db, caller, id, body, call.ifMatch);
      return okVersioned(shown(changed), changed.version);
    },
  }),
  endpoint(`POST ${path}/{id}/verify`, {
    id: "verifyNotificationSender",
    service: "waits for others",
    access: write,
    params,
    summary: "Search the TXT record now, or mail a new link; a failed sender is pending again",
    details: "A tenant may start 30 proofs an hour.",
    answers: { 200: sender },
    problems: [
      "NOTIFICATION_SENDER_NOT_FOUND",
      "RATE_LIMITED",
      "NOTIFICATION_TEMPLATE_NOT_FOUND",
      "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
    ],
    async run({ platform, caller, params: { id } }) {
      const checked = await verifySender(platform, caller, id);
      return okVersioned(shown(checked), checked.version);
    },
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "removeNotificationSender",
    access: write,
    params,
    summary: "Delete a sender; mails then come from the default sender or the service's own address",
    answers: { 204: { description: "Deleted" } },
    problems: ["NOTIFICATION_SENDER_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ db, caller, params: { id }, call }) => noContentAfter(removeSender(db, caller, id, call.ifMatch)),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Confirm the sender address",
    incomplete: "This link is incomplete. Open the whole link of the mail.",
    explanation: "The person who asked for it can then send mail from your address.",
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
