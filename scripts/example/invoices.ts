import { defineResource, z } from "@steward/steward";

const number = z.string().regex(/^[A-Za-z0-9-]{1,30}$/, "expected 1 to 30 letters, digits and dashes");
const customer = z.string().min(1).max(200);
const amount = z.number().positive().max(9_999_999_999.99).multipleOf(0.01);

/** The invoices of a tenant: list, read, create, bulk creation, change and deletion under /api/v1/invoices. */
export const invoices = defineResource({
  one: "invoice",
  many: "invoices",
  area: "Invoices",
  readBy: "read:invoices",
  managedBy: "write:invoices",
  result: z.object({
    id: z.guid(),
    number: z.string(),
    customer: z.string(),
    amount: z.number(),
    dueOn: z.iso.date(),
    status: z.enum(["Draft", "Sent"]),
    fileId: z.guid().nullable(),
    isDeleted: z.boolean(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  }).meta({ id: "InvoiceDto" }),
  create: z.object({ number, customer, amount, dueOn: z.iso.date() }).meta({ id: "CreateInvoiceDto" }),
  update: z.object({ customer, amount, dueOn: z.iso.date() }).partial().meta({
    id: "UpdateInvoiceDto",
    description: "Members left out keep their value",
  }),
  query: z.object({ status: z.enum(["Draft", "Sent"]).optional() }),
  table: "invoicing.invoices",
  softDeleted: true,
  computed: { dueOn: "due_on::text", isDeleted: "deleted_at is not null" },
  sorts: { createdAt: "created_at", number: "number", dueOn: "due_on", amount: "amount" },
  unique: { invoices_number_unique: "The tenant already has an invoice with this number." },
});
