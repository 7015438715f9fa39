import type { Sql } from "../../infra/postgres/postgres.ts";

const WRITE_INTERVAL_MS = 60_000;
const MAX_KEPT = 5_000;

/** Records when API keys, service accounts and clients were last used, each at most once a minute. */
export class LastUses {
  readonly #lastWrites = new Map<string, number>();

  constructor(private readonly sql: Sql) {}

  /**
   * It does not wait for the write; a failed write is dropped.
   * @param ip absent: the table has no column for it
   */
  record(table: "api_keys" | "service_accounts" | "oauth_clients", id: string, ip?: string | null): void {
    const now = performance.now();
    const before = this.#lastWrites.get(id);
    if (before !== undefined && now - before < WRITE_INTERVAL_MS) return;
    this.#lastWrites.delete(id);
    const [oldest] = this.#lastWrites.keys();
    if (oldest !== undefined && this.#lastWrites.size >= MAX_KEPT) this.#lastWrites.delete(oldest);
    this.#lastWrites.set(id, now);
    const { sql } = this;
    const withIp = ip === undefined ? sql`` : sql`, last_used_ip = ${ip}`;
    const seconds = WRITE_INTERVAL_MS / 1000 - 1;
    sql`update ${sql(table)} set last_used_at = now() ${withIp} where id = ${id}
      and (last_used_at is null or last_used_at < now() - make_interval(secs => ${seconds}))`
      .catch(() => this.#lastWrites.delete(id)); // the next use tries again
  }
}
