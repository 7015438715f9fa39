// The real connections that the simulated instances share.
import postgres from "postgres";
import { arrayTypes, type Pool } from "../../infra/postgres/postgres.ts";
import { timeType } from "../../infra/postgres/timestamps.ts";
import { real } from "./virtual_time.ts";

const CONNECTIONS = 12;
/** A statement that takes longer may wait for a lock. */
const PATIENCE_MS = 4;

/** Opens one connection that finds the functions of the schema `simulation` before those of Postgres. */
export function openConnection(url: string): Pool {
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
