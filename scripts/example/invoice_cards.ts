import { defineRoute, type ExtensionCard, inTenant, ok, z } from "@steward/steward";

const EUR = { currency: "EUR" };

const Summary = z.object({
  draftCount: z.int(),
  openCount: z.int(),
  openAmount: z.number(),
  overdueAmount: z.number(),
  /** The last six months, the oldest first. */
  months: z.array(z.object({ month: z.iso.date(), draft: z.number(), sent: z.number() })),
}).meta({ id: "InvoicingSummary" });
type Summary = z.output<typeof Summary>;

/** The sums that the cards show. */
export const summarizeInvoices = defineRoute({
  method: "get",
  path: "/api/v1/invoice-summary",
  area: "Invoices",
  id: "summarizeInvoices",
  summary: "Sums of the invoices",
  access: inTenant("read:invoices"),
  answers: { 200: { description: "The sums", schema: Summary } },
  problems: [],
  async run({ db, caller: { tenantId } }) {
    const [sums] = await db<Omit<Summary, "months">[]>`
      select count(*) filter (where status = 'Draft')::int as draft_count,
        count(*) filter (where status = 'Sent')::int as open_count,
        coalesce(sum(amount) filter (where status = 'Sent'), 0)::float8 as open_amount,
        coalesce(sum(amount) filter (where status = 'Sent' and due_on < current_date), 0)::float8 as overdue_amount
      from invoicing.invoices where tenant_id = ${tenantId} and deleted_at is null`;
    const months = await db<Summary["months"]>`
      select month::date::text,
        coalesce(sum(amount) filter (where status = 'Draft'), 0)::float8 as draft,
        coalesce(sum(amount) filter (where status = 'Sent'), 0)::float8 as sent
      from generate_series(0, 5) as ago
      cross join lateral (select date_trunc('month', now()) - ago * interval '1 month' as month) as each
      left join invoicing.invoices on tenant_id = ${tenantId} and deleted_at is null
        and created_at >= month and created_at < month + interval '1 month'
      group by month order by month`;
    return ok({ ...sums, months });
  },
});

/** The open amount. */
export const openCard: ExtensionCard = {
  title: { en: "Open invoices", pt: "Faturas em aberto" },
  permission: "read:invoices",
  async read({ call, language }) {
    const { draftCount, openCount, openAmount, overdueAmount } = await call<Summary>("summarizeInvoices");
    const [drafts, open, sum, overdue] = language === "pt"
      ? ["Rascunhos", "Enviadas", "Valor em aberto", "Vencido"]
      : ["Drafts", "Sent", "Open amount", "Overdue"];
    return {
      numbers: [
        { label: drafts, value: draftCount, href: "invoices?status=Draft" },
        { label: open, value: openCount, href: "invoices?status=Sent" },
        { label: sum, value: openAmount, format: EUR },
        { label: overdue, value: overdueAmount, format: EUR, ...overdueAmount > 0 && { tone: "bad" } },
      ],
    };
  },
};

/** The amounts by month. */
export const monthsCard: ExtensionCard = {
  title: { en: "Invoices by month", pt: "Faturas por mês" },
  permission: "read:invoices",
  async read({ call, language }) {
    const { months } = await call<Summary>("summarizeInvoices");
    const name = new Intl.DateTimeFormat(language, { month: "short", year: "numeric", timeZone: "UTC" });
    const [label, drafts, sent] = language === "pt"
      ? ["Valor das faturas por mês", "Rascunhos", "Enviadas"]
      : ["Amount of invoices by month", "Drafts", "Sent"];
    return {
      chart: {
        label,
        names: months.map(({ month }) => name.format(new Date(month))),
        series: [
          { label: sent, tone: "ok", values: months.map(({ sent }) => sent) },
          { label: drafts, tone: "idle", values: months.map(({ draft }) => draft) },
        ],
        format: EUR,
      },
    };
  },
};
