import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { readMaintenanceLag } from "../jobs/maintenance.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import { readDatabaseLimit } from "../records/alert_rules.ts";
import { time } from "../shared/shapes.ts";

/** Days of samples from which growth is estimated. */
const GROWTH_DAYS = 30;
const GIGABYTE = 1_000_000_000;
/** The number of transaction ids since the last freeze at which Postgres refuses to write. */
const TRANSACTION_IDS = 2 ** 31;

const perDay = z.number().nullable().describe("Bytes a day; null before the second daily sample");

const TableHealth = z.object({
  name: z.string(),
  bytes: z.int().describe("With its indexes"),
  indexBytes: z.int(),
  rows: z.int().describe("Estimated"),
  deadRows: z.int().describe("Removed rows whose space is not yet free; estimated"),
  vacuumedAt: time.nullable(),
  growthPerDay: perDay,
}).meta({ id: "TableHealthDto" });

const Limit = z.object({
  kind: z.enum(["Database", "Connections", "TransactionIds"]),
  used: z.int(),
  limit: z.int().nullable().describe(
    "Null: unknown. That of the database is the lowest threshold of an active alert rule",
  ),
  fullInDays: z.number().nullable().describe("At the present growth; null: unknown, or never"),
}).meta({ id: "DataLimitDto" });

/** The state of the database. */
export const DataHealth = z.object({
  databaseBytes: z.int(),
  growthPerDay: perDay,
  oldestTransactionSeconds: z.number().describe(
    "Age of the oldest snapshot: no row that was removed after it becomes free",
  ),
  limits: z.array(Limit),
  maintenance: z.array(z.object({ name: z.string(), seconds: z.number() })).describe(
    "How long each maintenance or retention job has been due without being finished",
  ),
  tables: z.array(TableHealth).describe("Largest first"),
}).meta({ id: "DataHealthDto" });
export type DataHealth = z.output<typeof DataHealth>;

interface Sample {
  bytes: number;
  tables: Record<string, number>;
  /** Days since then. */
  days: number;
}

/** Reads the sizes of tables, what keeps removed rows, late maintenance, and what will be full when. */
export async function readDataHealth(p: Pick<JobPlatform, "sql" | "jobTypes">): Promise<DataHealth> {
  const { sql: q } = p;
  const [[server], tables, [sample], maintenance, limit] = await Promise.all([
    q<{ bytes: number; connections: number; maxConnections: number; xids: number; seconds: number }[]>`
      select pg_database_size(current_database()) as bytes,
        (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as max_connections,
        (select max(age(datfrozenxid)) from pg_database)::bigint as xids,
        coalesce((select extract(epoch from clock_timestamp() - min(xact_start)) from pg_stat_activity
          where backend_xmin is not null and pid <> pg_backend_pid()), 0)::float8 as seconds`,
    q<Omit<z.output<typeof TableHealth>, "growthPerDay">[]>`
      select ${
      tableName(q)
    } as name, pg_total_relation_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes,
        greatest(c.reltuples, 0)::bigint as rows, coalesce(s.n_dead_tup, 0) as dead_rows,
        greatest(s.last_vacuum, s.last_autovacuum)::timestamptz(3) as vacuumed_at
      from ${ownTables(q)} left join pg_stat_user_tables s on s.relid = c.oid order by 2 desc, 1`,
    q<Sample[]>`
      select bytes, tables, ((now() at time zone 'UTC')::date - day) as days from database_samples
      where day between (now() at time zone 'UTC')::date - ${GROWTH_DAYS}::int and (now() at time zone 'UTC')::date - 1
      order by day limit 1`,
    readMaintenanceLag(p),
    readDatabaseLimit(q),
  ]);
  if (!server) throw new Error("the state of the database was not returned");
  const grown = (now: number, then: number | undefined) =>
    sample && then !== undefined ? (now - then) / sample.days : null;
  const growthPerDay = grown(server.bytes, sample?.bytes);
  const limitBytes = limit === null ? null : limit * GIGABYTE;
  return {
    databaseBytes: server.bytes,
    growthPerDay,
    oldestTransactionSeconds: server.seconds,
    limits: [
      {
        kind: "Database",
        used: server.bytes,
        limit: limitBytes,
        fullInDays: limitBytes !== null && growthPerDay !== null && growthPerDay > 0
          ? Math.max(0, limitBytes - server.bytes) / growthPerDay
          : null,
      },
      { kind: "Connections", used: server.connections, limit: server.maxConnections, fullInDays: null },
      { kind: "TransactionIds", used: server.xids, limit: TRANSACTION_IDS, fullInDays: null },
    ],
    maintenance,
    tables: tables.map((table) => ({
      ...table,
      growthPerDay: grown(table.bytes, sample?.tables[table.name]),
    })),
  };
}

/** SQL: the tables of the service and of extensions. */
const ownTables = (q: Sql) =>
  q`(select c.*, n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')) c`;
const tableName = (q: Sql) =>
  q`case when c.nspname = 'public' then c.relname else c.nspname || '.' || c.relname end`;

/** Stores the sizes of today. Samples are kept for a year. */
export async function sampleDatabase(q: Sql): Promise<void> {
  await q`
    insert into database_samples (day, bytes, tables)
    select (now() at time zone 'UTC')::date, pg_database_size(current_database()),
      coalesce((select jsonb_object_agg(${tableName(q)}, pg_total_relation_size(c.oid)) from ${
    ownTables(q)
  }), '{}')
    on conflict (day) do update set bytes = excluded.bytes, tables = excluded.tables`;
  await q`delete from database_samples where day < (now() at time zone 'UTC')::date - 366`;
}
