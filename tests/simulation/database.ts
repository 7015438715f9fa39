// The database of a simulation, the service's schema with the virtual time and a record of all changes, and the real
// connections that the simulated instances share.
import postgres from "postgres";
import { arrayTypes, type Pool } from "../../infra/postgres/postgres.ts";
import { timeType } from "../../infra/postgres/timestamps.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { real } from "./virtual_time.ts";

export const TENANTS: [string, string] = [
  "00000000-0000-7000-8000-00000000000a",
  "00000000-0000-7000-8000-00000000000b",
];

/** Tables whose changes are recorded. */
const RECORDED = ["jobs", "job_batches", "recurring_jobs", "dead_letter_jobs", "job_workers"];
/** Tables that are empty at the start of a seed. */
const EMPTIED = [
  ...RECORDED,
  "audit_log",
  "audit_values",
  "job_attempts",
  "job_batch_changes",
  "job_batch_counts",
  "job_bucket_events",
  "job_buckets",
  "job_count_changes",
  "job_counts",
  "job_creation_count_changes",
  "job_creation_counts",
  "job_log_lines",
  "job_pauses",
  "job_progress",
  "job_search_keys",
  "job_throughput",
  "execution_counts",
  "execution_count_changes",
  "dead_letter_changes",
  "dead_letter_counts",
  "simulation.changes",
];

/**
 * The functions of time and chance in a schema that is searched before Postgres' own. `now()` is the virtual time at which
 * the transaction began.
 */
const SCHEMA = `
  create schema simulation;
  create function simulation.clock_timestamp() returns timestamptz language sql stable as
    $$ select current_setting('simulation.now')::timestamptz $$;
  create function simulation.statement_timestamp() returns timestamptz language sql stable as
    $$ select current_setting('simulation.now')::timestamptz $$;
  create function simulation.now() returns timestamptz language sql stable as $$
    select coalesce(nullif(current_setting('simulation.tx_now', true), ''), current_setting('simulation.now'))::timestamptz $$;
  create sequence simulation.chance;
  create function simulation.random() returns float8 language sql volatile as
    $$ select (pg_catalog.hashint8(nextval('simulation.chance'))::bigint + 2147483648) / 4294967296.0::float8 $$;
  create unlogged table simulation.changes (
    n bigint generated always as identity, at timestamptz not null default simulation.clock_timestamp(),
    name text not null, before jsonb, after jsonb
  );
  create function simulation.record_change() returns trigger language plpgsql as $$
    begin
      insert into simulation.changes (name, before, after) values (tg_table_name,
        case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
      return null;
    end $$;`;

/** Creates the database. @returns its connection string */
export async function createSimulationDatabase(): Promise<string> {
  const url = await createTestDatabase();
  const sql = openConnection(url);
  await sql.unsafe(SCHEMA);
  for (const table of RECORDED) {
    await sql.unsafe(`create trigger zz_simulation after insert or update or delete on ${table}
      for each row execute function simulation.record_change()`);
  }
  const defaults = await sql<{ change: string }[]>`
    select format('alter table %s alter column %I set default now()', d.adrelid::regclass, a.attname) as change
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where pg_get_expr(d.adbin, d.adrelid) in ('now()', 'pg_catalog.now()')`;
  for (const { change } of defaults) await sql.unsafe(change);
  await sql.unsafe("alter table audit_log disable trigger user"); // it is append-only, and ids of a seed are the same again
  await sql.unsafe("delete from recurring_jobs; analyze");
  for (const [n, id] of TENANTS.entries()) {
    await sql`insert into tenants (id, name, type) values (${id}, ${`Tenant ${n}`}, 'Standard')`;
  }
  for (const { name, concurrency, rate, timeout } of REMOTE_TYPES) {
    await sql`
      insert into job_types (id, name, timeout_seconds, max_retries, concurrency, rate_count, rate_per_seconds, secret_args,
        masked_args, signing_secret)
      values (gen_random_uuid(), ${name}, ${timeout}, 2, ${concurrency}, ${rate}, ${
      rate && 10
    }, '{}', '{}', 'x')`;
  }
  await sql.end();
  return url;
}

/** Types that remote workers run. */
export const REMOTE_TYPES = [
  { name: "remote.plain", concurrency: null, rate: null, timeout: 90 },
  { name: "remote.limited", concurrency: 2, rate: null, timeout: 45 },
];

/** Empties the tables, so that each seed finds the same database. */
export async function emptyDatabase(sql: Pool): Promise<void> {
  await sql.unsafe(`
    truncate ${EMPTIED.join(", ")} restart identity;
    update job_pause_version set n = 0 where n <> 0;
    update count_folds set folded_to = '0', running = '{}';
    alter sequence simulation.chance restart`);
}

const CONNECTIONS = 12;
/** A statement that takes longer may wait for a lock. */
const PATIENCE_MS = 4;

/** Opens one connection that finds the functions of the schema `simulation` before those of Postgres. */
function openConnection(url: string): Pool {
  return postgres(url, {
    max: 1,
    max_lifetime: null,
    idle_timeout: undefined,
    fetch_types: false,
    onnotice: () => {},
    connection: {
      search_path: "simulation, public, pg_catalog",
      deadlock_timeout: 1,
      jit: false,
      "simulation.now": "2031-01-01T00:00:00Z",
    } as Record<string, string | number | boolean>,
    transform: { column: { from: postgres.toCamel }, undefined: null },
    types: {
      date: timeType,
      bigint: { to: 20, from: [20], serialize: String, parse: Number },
      ...arrayTypes,
    },
  }) as unknown as Pool;
}

export interface Connection {
  sql: Pool;
  pid: number;
  isFree: boolean;
  /** The virtual time that it was told last; null: unknown. */
  time: string | null;
}

/** The connections of a simulation, and one that watches them. */
export class Connections {
  private constructor(readonly all: Connection[], readonly monitor: Pool) {}

  static async open(url: string): Promise<Connections> {
    const all: Connection[] = [];
    for (let n = 0; n < CONNECTIONS; n++) {
      const sql = openConnection(url);
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      all.push({ sql, pid: row?.pid ?? 0, isFree: true, time: null });
    }
    return new Connections(all, openConnection(url));
  }

  free(): Connection | undefined {
    return this.all.find(({ isFree }) => isFree);
  }

  /** Tells the connection the virtual time. It is not awaited: the next statement follows behind it. */
  tellTime(connection: Connection, time: string): void {
    if (connection.time === time) return;
    connection.time = time;
    connection.sql.unsafe(`set simulation.now = '${time}'`).catch(() => {}); // fails in an aborted transaction
  }

  /** Waits until the statement of a connection has ended (true), or waits for a lock of another one (false). */
  async endsOrWaits(connection: Connection, ended: Promise<unknown>): Promise<boolean> {
    for (;;) {
      const timer = Promise.withResolvers<false>();
      const id = real.setTimeout(() => timer.resolve(false), PATIENCE_MS);
      const isEnded = await Promise.race([ended.then(() => true), timer.promise]);
      real.clearTimeout(id);
      if (isEnded) return true;
      const [row] = await this.monitor<{ waits: boolean }[]>`
        select pg_catalog.cardinality(pg_blocking_pids(${connection.pid})) > 0 as waits`;
      if (row?.waits) return false;
    }
  }

  async cancel({ pid }: Connection): Promise<void> {
    await this.monitor`select pg_cancel_backend(${pid})`;
  }

  async close(): Promise<void> {
    await Promise.all(
      [this.monitor, ...this.all.map(({ sql }) => sql)].map((sql) => sql.end({ timeout: 1 })),
    );
  }
}
