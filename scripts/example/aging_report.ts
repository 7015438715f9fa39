import { date, dayParameter, decimal, defineReport, integer, text, z } from "@steward/steward";

/** Sent invoices that were due before a day, the oldest first. */
export const agingReport = defineReport({
  id: "invoice-aging",
  name: "Overdue invoices",
  description: "Sent invoices of the tenant that are overdue, with the days since they were due",
  version: 1,
  permissions: ["read:invoices"],
  parameters: z.object({ asOf: dayParameter("As of", "Default: today (UTC)") }),
  columns: {
    number: text("Number"),
    customer: text("Customer"),
    dueOn: date("Due on"),
    daysOverdue: integer("Days overdue"),
    amount: decimal("Amount"),
  },
  chart: { title: "Overdue by customer", by: "customer", sum: "amount" },
  query: (sql, { tenantIds, parameters: { asOf } }) =>
    sql`
    with day as (select coalesce(${asOf}::date, current_date) as today)
    select number, customer, due_on, today - due_on as days_overdue, amount
    from invoicing.invoices, day
    where (${tenantIds}::uuid[] is null or tenant_id = any(${tenantIds}::uuid[]))
      and deleted_at is null and status = 'Sent' and due_on < today
    order by due_on, number`,
});
