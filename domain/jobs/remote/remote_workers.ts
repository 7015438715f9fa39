import type { Log } from "../../../infra/log.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";

/** A new worker is listed after this time. */
const FIRST_WRITE_MS = 100;
const WRITE_EVERY_MS = 10_000;

/** A remote worker as it calls itself. */
interface Named {
  name: string;
  /** Its product and version; null: it did not say. */
  program: string | null;
}

/**
 * Lists the remote workers that call this instance, all in one statement every ten seconds. The list is only shown: the
 * lease of a remote job is in its own row.
 */
export class RemoteWorkers {
  /** Workers by id that called since the last write. */
  #named = new Map<string, Named>();
  /** Workers of which only a job was named since the last write. */
  #seen = new Set<string>();
  #known = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The time at which the timer fires. */
  #writeAt = Infinity;

  /** @param waiting the workers whose polls wait now */
  constructor(
    private readonly o: { sql: Sql; log: Log; waiting: () => Iterable<Named & { id: string }> },
  ) {}

  /** A worker has called by its name. */
  called(id: string, worker: Named): void {
    this.#named.set(id, worker);
    this.#schedule(this.#known.has(id) ? WRITE_EVERY_MS : FIRST_WRITE_MS);
  }

  /** Workers have named jobs they hold. */
  heldJobs(ids: Iterable<string>): void {
    for (const id of ids) this.#seen.add(id);
    this.#schedule(WRITE_EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Writes after this time, or earlier if that is planned: workers that keep coming do not put it off. */
  #schedule(inMs: number): void {
    const at = performance.now() + inMs;
    if (at >= this.#writeAt) return;
    clearTimeout(this.#timer);
    this.#writeAt = at;
    this.#timer = setTimeout(() => this.#write(), inMs);
  }

  async #write(): Promise<void> {
    this.#writeAt = Infinity;
    for (const worker of this.o.waiting()) this.#named.set(worker.id, worker);
    const named = [...this.#named];
    const seen = [...this.#seen];
    this.#known = new Set(this.#named.keys());
    this.#named.clear();
    this.#seen.clear();
    if (named.length > 0) this.#schedule(WRITE_EVERY_MS);
    const [ids, hosts] = [named.map(([id]) => id), named.map(([, { name }]) => name)];
    const programs = named.map(([, { program }]) => program);
    try {
      await this.o.sql`
        with seen as (
          update job_workers set heartbeat_at = now() where id = any(${seen}::uuid[]) and is_remote
        )
        insert into job_workers (id, host, is_remote, program)
        select id, host, true, program from unnest(${ids}::uuid[], ${hosts}::text[], ${programs}::text[])
          as given (id, host, program)
        on conflict (id) do update set heartbeat_at = now(), program = excluded.program`;
    } catch (error) {
      this.o.log.warn("the list of remote workers could not be written; it is retried", { error });
    }
  }
}
