import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { mainPool, type Sql } from "../../../infra/postgres/postgres.ts";
import { laneParts, REMOTE_MARK } from "../job_row.ts";

/** A queue or job type that can be paused. */
export interface PauseTarget {
  kind: "queue" | "type";
  name: string;
}

/** A pause; `tenantId` null: for all tenants. */
type PauseRow = PauseTarget & { tenantId: string | null };
/** A paused job type. */
export type PausedType = Omit<PauseRow, "kind">;

const keyOf = (kind: PauseTarget["kind"], name: string, tenantId: string | null) =>
  `${kind} ${name} ${tenantId ?? "*"}`;

/** The pauses at one time. */
class PausedWork {
  readonly #paused: ReadonlySet<string>;
  /** The paused types. Their jobs may wait in lanes together with jobs of other types. */
  readonly types: PausedType[];

  constructor(rows: PauseRow[]) {
    this.#paused = new Set(rows.map(({ kind, name, tenantId }) => keyOf(kind, name, tenantId)));
    this.types = rows.filter(({ kind }) => kind === "type");
  }

  get isEmpty(): boolean {
    return this.#paused.size === 0;
  }

  has(lane: string): boolean {
    if (this.isEmpty) return false;
    const { queue, limitKey, tenantId } = laneParts(lane);
    const isPaused = (kind: PauseTarget["kind"], name: string) =>
      this.#paused.has(keyOf(kind, name, null)) || this.#paused.has(keyOf(kind, name, tenantId ?? "-"));
    return isPaused("queue", queue) ||
      limitKey !== null && isPaused("type", limitKey.replace(REMOTE_MARK, ""));
  }
}

/** The pauses and their version. A claim that locks the version is not later than the next pause or resume. */
export async function readPausedWork(q: Sql): Promise<{ version: number; paused: PausedWork }> {
  const rows = await q<(PauseRow & { n: number })[]>`
    select v.n, p.kind, p.name, p.tenant_id from job_pause_version v left join job_pauses p on true`;
  return { version: rows[0]?.n ?? 0, paused: new PausedWork(rows.filter(({ kind }) => kind !== null)) };
}

/**
 * The pauses as a worker knows them. A pause or resume is announced to every instance, and then they are unknown until
 * they are read again. Where the announcement does not arrive, the mark in the worker's row prevents claims.
 */
export class KnownPauses {
  #paused: PausedWork | null = null;
  #readBy = "";
  #changes = 0;
  /** @param onChanged called for every pause or resume */
  constructor(private readonly sql: Sql, onChanged: () => void) {
    subscribeToChanges(mainPool(sql), "job pauses", () => {
      this.#changes++;
      this.#paused = null;
      onChanged();
    });
  }

  get isKnown(): boolean {
    return this.#paused !== null;
  }

  /** True if any queue or type is paused, as far as known. */
  get hasAny(): boolean {
    return this.#paused !== null && !this.#paused.isEmpty;
  }

  get types(): PausedType[] {
    return this.#paused?.types ?? [];
  }

  isPaused(lane: string): boolean {
    return this.#paused?.has(lane) ?? false;
  }

  /** Reads the pauses unless they are known. @param workerId id of the lease: a new lease has no mark yet */
  async ensure(workerId: string): Promise<void> {
    while (this.#paused === null || this.#readBy !== workerId) {
      const changesBefore = this.#changes;
      await this.#removeMark(workerId); // first: a later change sets it again
      const rows = await this.sql<PauseRow[]>`select kind, name, tenant_id from job_pauses`;
      if (this.#changes !== changesBefore) continue;
      this.#paused = new PausedWork(rows);
      this.#readBy = workerId;
    }
  }

  /** Reads the pauses again if they changed without an announcement; false if they did not change. */
  async readIfChanged(workerId: string): Promise<boolean> {
    const [known, changesBefore] = [this.#paused, this.#changes];
    this.#paused = null; // if a statement fails, the mark may be gone
    if (await this.#removeMark(workerId)) {
      await this.ensure(workerId);
      return true;
    }
    if (this.#changes === changesBefore) this.#paused = known;
    return false;
  }

  async #removeMark(workerId: string): Promise<boolean> {
    const { count } = await this.sql`
      update job_workers set pauses_changed = false where id = ${workerId} and pauses_changed`;
    return count > 0;
  }
}
