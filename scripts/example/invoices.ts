import { defineRecord, z } from "@steward/steward";

const status = z.enum(["Draft", "Sent"]).default("Draft");
const amount = z.number().positive().max(9_999_999_999.99).multipleOf(0.01);

/** The invoices of a tenant: list, read, create, bulk creation, change and deletion under /api/v1/invoices. */
export const invoices = defineRecord({
  one: "invoice",
  many: "invoices",
  area: "Invoices",
  labels: { one: { en: "Invoice", pt: "Fatura" }, many: { en: "Invoices", pt: "Faturas" } },
  readBy: "read:invoices",
  managedBy: "write:invoices",
  table: "invoicing.invoices",
  softDeleted: true,
  changes: "partial",
  unique: {
    invoices_number_unique: {
      en: "The tenant already has an invoice with this number.",
      pt: "O inquilino já tem uma fatura com este número.",
    },
  },
  members: {
    number: {
      shape: z.string().regex(/^[A-Za-z0-9-]{1,30}$/, "expected 1 to 30 letters, digits and dashes"),
      label: { en: "Number", pt: "Número" },
      set: "once",
      sort: true,
    },
    customer: { shape: z.string().min(1).max(200), label: { en: "Customer", pt: "Cliente" } },
    amount: {
      shape: amount,
      label: { en: "Amount", pt: "Valor" },
      sort: true,
      format: { currency: "EUR" },
    },
    dueOn: { shape: z.iso.date(), label: { en: "Due on", pt: "Vencimento" }, sort: true },
    status: {
      shape: status,
      label: { en: "Status", pt: "Estado" },
      set: "never",
      filter: true,
      values: {
        Draft: { label: { en: "Draft", pt: "Rascunho" }, tone: "idle" },
        Sent: { label: { en: "Sent", pt: "Enviada" }, tone: "ok" },
      },
    },
    fileId: { shape: z.guid().nullable(), label: { en: "File", pt: "Arquivo" }, set: "never" },
  },
  actions: {
    send: {
      label: { en: "Send", pt: "Enviar" },
      route: "sendInvoice",
      when: ({ status }) => status === "Draft",
      confirm: { en: "Send {number} to {customer}?", pt: "Enviar {number} a {customer}?" },
      done: { en: "{number} was sent.", pt: "{number} foi enviada." },
    },
    pdf: {
      label: { en: "PDF", pt: "PDF" },
      route: "giveInvoicePdf",
      when: ({ fileId }) => fileId !== null,
    },
  },
});
