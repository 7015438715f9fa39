import process from "node:process";
import {
  accepted,
  defineProblems,
  defineRoute,
  inTenant,
  type Message,
  ok,
  type Problem,
  problem,
  transact,
  type Tx,
  z,
} from "@steward/steward";
import { invoices } from "./invoices.ts";
import { renderInvoice } from "./render_invoice.ts";

const PROBLEMS = defineProblems({
  INVOICE_SENT_CONFLICT: {
    status: 409,
    title: "Invoice was sent",
    meaning: "The invoice was sent before.",
    fix: "Nothing is left to do.",
  },
  INVOICE_NOT_RENDERED_CONFLICT: {
    status: 409,
    title: "Invoice has no PDF",
    meaning: "The invoice was not sent, or its PDF is not stored yet.",
    fix: "Send the invoice, and try again after the event invoice.rendered.",
  },
});

const params = z.object({ id: z.guid() });

/** Marks a draft as sent, enqueues its PDF and announces it; all of it or nothing. */
export const sendInvoice = defineRoute({
  method: "post",
  path: "/api/v1/invoices/{id}/send",
  area: "Invoices",
  id: "sendInvoice",
  summary: "Send an invoice",
  access: inTenant("write:invoices"),
  params,
  answers: { 202: { description: "The job that makes the PDF", schema: z.object({ jobId: z.guid() }) } },
  problems: [invoices.notFound, PROBLEMS.INVOICE_SENT_CONFLICT],
  run: ({ db, caller, params: { id }, steward }) =>
    transact(db, async (tx) => {
      const { tenantId, userId, traceId } = caller;
      const [invoice] = await tx<{ number: string; customer: string }[]>`
        update invoicing.invoices set status = 'Sent', version = version + 1, updated_at = now()
        where id = ${id} and tenant_id = ${tenantId} and deleted_at is null and status = 'Draft'
        returning number, customer`;
      if (!invoice) throw await whyNotDraft(tx, tenantId, id);
      const jobId = await steward.enqueueJob(tx, renderInvoice, { invoiceId: id }, {
        tenantId,
        createdBy: userId,
      });
      const text = `Invoice ${invoice.number} was sent to ${invoice.customer}`;
      await steward.sendNotification(tx, { tenantId, userId, traceId }, announcement(text, userId));
      await steward.audit(tx, caller, { action: "invoice.send", targetType: "invoice", targetId: id });
      return accepted({ jobId }, `/api/v1/jobs/${jobId}`);
    }),
});

/** Answers the download URL of an invoice's PDF. */
export const giveInvoicePdf = defineRoute({
  method: "get",
  path: "/api/v1/invoices/{id}/pdf",
  area: "Invoices",
  id: "giveInvoicePdf",
  summary: "Get a download URL of the PDF",
  access: inTenant("read:invoices"),
  params,
  answers: {
    200: {
      description: "The URL, valid for five minutes",
      schema: z.object({ url: z.url(), expiresAt: z.iso.datetime() }),
    },
  },
  problems: [
    invoices.notFound,
    PROBLEMS.INVOICE_NOT_RENDERED_CONFLICT,
    "FILE_NOT_AVAILABLE_CONFLICT",
    "FILE_INFECTED_CONFLICT",
    "FILE_PURGED_CONFLICT",
  ],
  async run({ db, caller, params: { id }, steward }) {
    const { fileId } = (await invoices.source.read(db, caller, id)).value;
    if (fileId === null) {
      throw problem(PROBLEMS.INVOICE_NOT_RENDERED_CONFLICT, `Invoice ${id} has no PDF yet.`);
    }
    return ok(await steward.signDownload(db, caller.tenantId, fileId));
  },
});

async function whyNotDraft(tx: Tx, tenantId: string, id: string): Promise<Problem> {
  const [invoice] = await tx`
    select from invoicing.invoices where id = ${id} and tenant_id = ${tenantId} and deleted_at is null`;
  return invoice
    ? problem(PROBLEMS.INVOICE_SENT_CONFLICT, `Invoice ${id} was sent before.`)
    : problem(invoices.notFound, `The tenant has no invoice ${id}.`);
}

/** A message to the team's Slack, if INVOICING_SLACK_URL is an incoming webhook; else to the sender's inbox. */
function announcement(text: string, userId: string): Message {
  const address = process.env.INVOICING_SLACK_URL;
  const content = { subject: "Invoice sent", textBody: text };
  return address
    ? { channel: "Slack", recipients: [{ address }], ...content }
    : { channel: "InApp", recipients: [{ address: userId }], ...content };
}
