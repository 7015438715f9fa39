// An extension for tests: invoices that are paid by a job.
import process from "node:process";
import {
  created,
  decimal,
  defineExtension,
  defineJob,
  defineProblems,
  defineRecord,
  defineReport,
  defineRoute,
  inTenant,
  newId,
  ok,
  problem,
  reference,
  transact,
  z,
} from "@steward/steward";

const PROBLEMS = defineProblems({
  INVOICE_PAID_CONFLICT: {
    status: 409,
    title: "Invoice is paid",
    meaning: "The invoice was paid before.",
    fix: "Nothing is left to do.",
  },
  INVOICE_UNKNOWN: {
    status: 404,
    title: "No such invoice",
    meaning: "The tenant has no such invoice.",
    fix: "Check the id.",
  },
});

const InvoiceDto = z.object({ id: z.guid(), number: z.string() }).meta({ id: "InvoiceDto" });
const params = z.object({ id: z.guid() });

const pay = defineJob({
  name: "invoice.pay",
  args: z.object({ invoiceId: z.guid() }),
  exposed: true,
  permission: "write:invoices",
  async run({ invoiceId }, { db, tenantId, steward, log }) {
    await transact(db, async (tx) => {
      const [invoice] = await tx<{ number: string }[]>`
        update acme.invoices set paid_at = now() where id = ${invoiceId} and tenant_id = ${tenantId} returning number`;
      if (!invoice || tenantId === null) throw new Error(`no invoice ${invoiceId}`);
      await steward.emitEvent(tx, {
        type: "invoice.paid",
        tenantId,
        data: { invoiceId, number: invoice.number },
      });
      await steward.audit(tx, null, {
        action: "invoice.pay",
        targetType: "invoice",
        targetId: invoiceId,
        tenantId,
      });
    });
    log.info("the invoice is paid", { invoiceId });
    return { invoiceId };
  },
});

const payments = defineReport({
  id: "payments",
  name: "Payments",
  description: "Payments in the billing database",
  version: 1,
  permissions: ["read:invoices"],
  database: "billing",
  parameters: z.object({}),
  columns: { amount: decimal("Amount") },
  query: (sql) => sql`select amount from payments order by amount`,
});

export const customers = defineRecord({
  one: "customer",
  many: "customers",
  area: "Customers",
  labels: { many: { en: "Customers", pt: "Clientes" }, one: { en: "Customer", pt: "Cliente" } },
  managedBy: "write:invoices",
  table: "acme.customers",
  title: "name",
  softDeleted: true,
  unique: { customers_number_unique: "The tenant already has a customer with this number." },
  members: {
    number: { shape: z.string().min(1).max(20), sort: true },
    name: { shape: z.string().min(1).max(200), label: { en: "Name", pt: "Nome" } },
    credit: { shape: z.number().default(0), label: { en: "Credit limit", pt: "Limite de crédito" } },
  },
});

export const contacts = defineRecord({
  one: "contact",
  many: "contacts",
  area: "Customers",
  managedBy: "write:invoices",
  table: "acme.contacts",
  title: "name",
  members: {
    customerId: {
      shape: reference("customers"),
      label: { en: "Customer of the contact", pt: "Cliente do contato" },
      filter: true,
    },
    name: { shape: z.string().min(1).max(200) },
  },
});

export default defineExtension({
  name: "acme",
  permissions: [
    { code: "read:invoices", category: "Invoices", description: "Read invoices" },
    { code: "write:invoices", category: "Invoices", description: "Create and pay invoices" },
  ],
  tenantRoles: { Admin: ["read:invoices", "write:invoices"], Visitor: ["read:invoices"] },
  jobs: [pay],
  events: {
    "invoice.paid": {
      description: "An invoice was paid",
      example: { invoiceId: "01990000-0000-7000-8000-000000000001", number: "2026-1" },
    },
  },
  databases: { billing: process.env.ACME_BILLING_URL },
  resources: [customers, contacts],
  reports: [payments],
  migrations: new URL("./migrations/", import.meta.url),
  personalData: {
    user: {
      orders: (q, { userId, tenantId }) =>
        q`
        select id, tenant_id, note from acme.orders
        where user_id = ${userId} and (${tenantId}::uuid is null or tenant_id = ${tenantId}) order by id`,
    },
    async eraseUsers(db, { userIds, addresses }) {
      await db`update acme.orders set note = '' where user_id = any(${userIds}::uuid[])`;
      await db`update acme.orders set note = 'erased' where note = any(${addresses}::text[])`;
    },
    tenant: {
      orders: (q, tenantId) => q`select id, note from acme.orders where tenant_id = ${tenantId} order by id`,
    },
    async eraseTenant(db, tenantId) {
      await db`delete from acme.orders where tenant_id = ${tenantId}`;
    },
  },
  routes: [
    defineRoute({
      method: "post",
      path: "/api/v1/acme/invoices",
      area: "Invoices",
      id: "createAcmeInvoice",
      summary: "Create an invoice",
      access: inTenant("write:invoices"),
      body: z.object({ number: z.string().min(1).max(50) }).meta({ id: "CreateInvoiceDto" }),
      creates: "atomically",
      answers: { 201: { description: "Created", schema: InvoiceDto } },
      problems: [],
      async run({ db, caller, body, steward }) {
        const id = newId();
        await transact(db, async (tx) => {
          await tx`insert into acme.invoices (id, tenant_id, number) values (${id}, ${caller.tenantId}, ${body.number})`;
          await steward.audit(tx, caller, {
            action: "invoice.create",
            targetType: "invoice",
            targetId: id,
            after: body,
          });
        });
        return created({ id, number: body.number }, `/api/v1/acme/invoices/${id}`);
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/v1/acme/invoices/{id}/pay",
      area: "Invoices",
      id: "payAcmeInvoice",
      summary: "Pay an invoice",
      access: inTenant("write:invoices"),
      params,
      answers: { 200: { description: "The job that pays it", schema: z.object({ jobId: z.guid() }) } },
      problems: [PROBLEMS.INVOICE_UNKNOWN, PROBLEMS.INVOICE_PAID_CONFLICT],
      async run({ db, caller, params, steward }) {
        const [invoice] = await db<{ paidAt: Date | null }[]>`
          select paid_at from acme.invoices where id = ${params.id} and tenant_id = ${caller.tenantId}`;
        if (!invoice) throw problem(PROBLEMS.INVOICE_UNKNOWN, `The tenant has no invoice ${params.id}.`);
        if (invoice.paidAt) {
          throw problem(PROBLEMS.INVOICE_PAID_CONFLICT, `Invoice ${params.id} is already paid.`);
        }
        const { tenantId, userId } = caller;
        const jobId = await steward.enqueueJob(db, pay, { invoiceId: params.id }, {
          tenantId,
          createdBy: userId,
        });
        return ok({ jobId });
      },
    }),
  ],
});
