import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";

/** Invoices by region and customer: groups, totals of every kind, several tables and charts of every kind. */
export default ({ boolean, date, decimal, defineReport, instant, integer, text, z }: ReportKit) =>
  defineReport({
    id: "everything",
    name: "Everything",
    description: "All that a report can declare",
    version: 1,
    permissions: [],
    parameters: z.object({
      year: z.int().min(2000).max(2100).default(2026).meta({ title: "Year" }),
      rows: z.int().min(0).max(100_000).default(24),
    }),
    title: ({ year }) => `Invoices of ${year}`,
    subtitle: ({ rows }) => `The first ${rows} invoices by region & customer`,
    layout: "portrait",
    parts: ({ table, chart }) => [
      chart({
        kind: "line",
        title: ({ year }) => `By month of ${year}`,
        columns: { month: text("Month"), invoiced: decimal("Invoiced"), paid: decimal("Paid") },
        label: "month",
        values: ["invoiced", "paid"],
        query: (sql, { parameters }) =>
          sql`
          select to_char(make_date(${parameters.year}::int, n, 1), 'Mon') as month, n * 1000.5 as invoiced,
            case when n <> 7 then n * 800.25 end as paid
          from generate_series(1, 12) n`,
      }),
      table({
        title: "Invoices",
        columns: {
          region: text("Region", 14),
          customer: text("Customer", 22),
          number: integer("Number"),
          issuedOn: date("Issued on"),
          sentAt: instant("Sent"),
          isPaid: boolean("Paid"),
          amount: decimal("Amount"),
        },
        groupBy: ["region", "customer"],
        totals: { amount: ["sum", "average"], number: "count", issuedOn: ["min", "max"] },
        chart: { title: "Amount by region", kind: "pie", by: "region", sum: "amount" },
        query: (sql, { parameters }) =>
          sql`
          select (array['North', 'South', '<East> & "West"', null])[1 + (n - 1) * 4 / greatest(${parameters.rows}::int, 1)] as region,
            'Customer ' || (1 + (n - 1) * 12 / greatest(${parameters.rows}::int, 1)) as customer, n as number,
            make_date(${parameters.year}::int, 1, 1) + n as issued_on,
            make_timestamptz(${parameters.year}::int, 1, 1, 0, 0, 0, 'UTC') + n * interval '1 hour 1.5 seconds' as sent_at,
            n % 3 = 0 as is_paid, (n * 10 + 0.10)::numeric(12, 2) as amount
          from generate_series(1, ${parameters.rows}::int) n order by n`,
      }),
      table({
        title: "Balances",
        columns: { account: text("Account"), balance: decimal("Balance") },
        totals: { balance: "sum" },
        chart: { title: "Balances", by: "account", sum: "balance" },
        query: (sql) =>
          sql`select * from (values ('Bank', 0.10), ('Cash', 0.20), ('Loans', -0.40), ('Large', 12345678901234.56))
            balances (account, balance)`,
      }),
    ],
  });
