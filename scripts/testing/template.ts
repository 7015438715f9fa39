// A template database has the schema, and the rows that the first start of a service writes.
import { bootstrap } from "../../domain/access/tenants/bootstrap.ts";
import { jobTypesOf } from "../../domain/job_types.ts";
import { ensureServiceRecurringJobs } from "../../domain/jobs/instance/service_recurring.ts";
import { JobTypes } from "../../domain/jobs/job_type.ts";
import { readConfig } from "../../infra/config.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Pool } from "../../infra/postgres/postgres.ts";

/** First run of the service's own recurring jobs: so late that they run only when a test moves the clock. */
const FIRST_TICK = new Date("2100-01-01");

export const migrateDatabase = (url: string): Promise<void> =>
  on(url, async (sql) => void await migrate(sql));

export const fillDatabase = (url: string): Promise<void> =>
  on(url, async (sql) => {
    const config = readConfig({ STEWARD_ENV: "development" });
    await bootstrap({ sql, config });
    const jobTypes = new JobTypes();
    jobTypes.register(...await jobTypesOf(config));
    await ensureServiceRecurringJobs({ sql, config, jobTypes, clock: { now: () => FIRST_TICK } });
  });

async function on(url: string, work: (sql: Pool) => Promise<void>): Promise<void> {
  const sql = connectPostgres(url, { max: 1 });
  await work(sql);
  await sql.end();
}
