import type { Sql } from "../../infra/postgres/postgres.ts";
import { idWithin } from "../shared/lists.ts";

/** SQL: the reports that each tenant requested, by day (UTC); all zeros for those of the service. */
export const reportsByDay = (q: Sql, from: Date) =>
  q`
  select (created_at at time zone 'UTC')::date as day,
    coalesce(tenant_id, '00000000-0000-0000-0000-000000000000') as tenant_key, count(*) as n
  from report_executions where ${idWithin(q, from, null)} and created_at >= ${from} group by 1, 2`;
