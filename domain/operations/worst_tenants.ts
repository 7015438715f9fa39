import { z } from "zod";
import type { SqlPart } from "../../infra/postgres/postgres.ts";
import type { AreaName } from "../../infra/areas.ts";
import { STATUS, UNDELIVERED } from "../reports/status.ts";
import { firstIdOf } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";

const SHOWN = 3;
/** Ids of reports are made up to this much before their time of request. */
const ID_MARGIN_MS = 3_600_000;

const Worst = z.array(z.object({ tenantId: z.guid(), name: z.string(), count: z.int() }));

/** For each kind of failure the tenants that have the most, at most three. */
export const WorstTenants = z.object({
  webhooks: Worst.meta({ description: "Failing webhook endpoints" }),
  messages: Worst.meta({ description: "Messages that were not delivered" }),
  reports: Worst.meta({ description: "Reports that failed, or did not reach all recipients" }),
}).meta({ id: "WorstTenantsDto" });

/** Reads the tenants with the most failures since a time; of an area that is off, none. */
export async function readWorstTenants(
  { sql: q, config }: Pick<Platform, "sql" | "config">,
  since: Date,
): Promise<z.output<typeof WorstTenants>> {
  const worst = (area: AreaName, failures: SqlPart) =>
    !config.AREAS.has(area) ? [] : q<z.output<typeof Worst>>`
      select t.id as tenant_id, t.name, failures.n as count
      from (${failures}) failures (tenant_id, n) join tenants t on t.id = failures.tenant_id
      order by n desc, t.name limit ${SHOWN}`;
  const first = firstIdOf(new Date(since.getTime() - ID_MARGIN_MS));
  const [webhooks, messages, reports] = await Promise.all([
    worst("events", q`select tenant_id, count(*) from webhook_endpoints where is_failing group by 1`),
    worst(
      "notifications",
      q`select tenant_key, sum(count)::bigint from notification_hour_counts
      where hour >= date_trunc('hour', ${since}::timestamptz) and status in ('Failed', 'DeadLettered')
      group by 1 having sum(count) > 0`,
    ),
    worst(
      "reports",
      q`select tenant_id, count(*) from report_executions
      where id >= ${first} and created_at >= ${since} and deleted_at is null
        and (status = ${STATUS.Failed} or delivery_status = any(${UNDELIVERED}::text[]))
      group by 1`,
    ),
  ]);
  return { webhooks: [...webhooks], messages: [...messages], reports: [...reports] };
}
