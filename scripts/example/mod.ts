// Invoicing: an example of a product on Steward. `deno task example` starts it.
import { defineExtension } from "@steward/steward";
import { agingReport } from "./aging_report.ts";
import { invoices } from "./invoices.ts";
import { draftsPage } from "./drafts_page.ts";
import { monthsCard, openCard, summarizeInvoices } from "./invoice_cards.ts";
import { renderInvoice } from "./render_invoice.ts";
import { giveInvoicePdf, sendInvoice } from "./send_invoice.ts";

export default defineExtension({
  name: "invoicing",
  permissions: [
    { code: "read:invoices", category: "Invoices", description: "Read invoices" },
    { code: "write:invoices", category: "Invoices", description: "Create, change and send invoices" },
  ],
  tenantRoles: { Admin: ["read:invoices", "write:invoices"], Visitor: ["read:invoices"] },
  resources: [invoices],
  routes: [sendInvoice, giveInvoicePdf, summarizeInvoices],
  overview: [openCard, monthsCard],
  pages: [draftsPage],
  jobs: [renderInvoice],
  reports: [agingReport],
  events: {
    "invoice.rendered": {
      description: "The PDF of an invoice was stored",
      example: {
        invoiceId: "01990000-0000-7000-8000-000000000001",
        number: "2026-1",
        fileId: "01990000-0000-7000-8000-000000000002",
      },
    },
  },
  migrations: new URL("./migrations/", import.meta.url),
});
