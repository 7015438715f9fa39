import { PostgresError } from "./postgres.ts";
import { sharedTransaction } from "./shared_transaction.ts";

export interface GroupCommitOptions<I> {
  /** Writes under way at once: while one waits for the disk, the next is being prepared. */
  concurrency?: number;
  /** Most items of one write; a request that alone has more goes alone. */
  maxItems?: number;
  /** After a write the next waits so long for company; who comes later than that waits for nothing. */
  pauseMs?: number;
  /** Most `weigh` of one write, where items differ much in size. */
  maxWeight?: number;
  weigh?(item: I): number;
}

interface Request<I, O> {
  items: I[];
  resolve: (results: O[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Does the same thing for many callers. What comes in while writes are under way goes together in the next one, so many
 * share a commit and a single one waits for nobody. Each is answered once its own is committed.
 */
export class GroupCommit<I, O> {
  #waiting: Request<I, O>[] = [];
  #writing = 0;
  readonly #o: Required<GroupCommitOptions<I>>;

  /** @param writeAll does all of them in one statement or transaction, all or none; answers in their order. */
  constructor(
    private readonly writeAll: (items: I[]) => Promise<O[]>,
    { concurrency = 2, maxItems = 500, pauseMs = 0, maxWeight = Infinity, weigh = () => 0 }:
      GroupCommitOptions<I> = {},
  ) {
    this.#o = { concurrency, maxItems, pauseMs, maxWeight, weigh };
  }

  /** Writes items, all or none. Within a shared transaction they go into that one, with nobody else's. */
  async write(items: I[]): Promise<O[]> {
    if (sharedTransaction()) return await this.writeAll(items);
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject });
      this.#next();
    });
  }

  /** Writes one. */
  async add(item: I): Promise<O> {
    return (await this.write([item]))[0] as O;
  }

  #next(): void {
    while (this.#writing < this.#o.concurrency && this.#waiting.length > 0) {
      const group = this.#takeGroup();
      this.#writing++;
      this.#writeGroup(group).then(() => this.#pause()).finally(() => {
        this.#writing--;
        this.#next();
      });
    }
  }

  async #pause(): Promise<void> {
    const { pauseMs } = this.#o;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }

  #takeGroup(): Request<I, O>[] {
    const { maxItems, maxWeight, weigh } = this.#o;
    let size = 0;
    let weight = 0;
    const end = this.#waiting.findIndex(({ items }, index) => {
      size += items.length;
      for (const item of items) weight += weigh(item);
      return index > 0 && (size > maxItems || weight > maxWeight);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #writeGroup(group: Request<I, O>[]): Promise<void> {
    try {
      const results = await this.writeAll(group.flatMap(({ items }) => items));
      for (const { items, resolve } of group) resolve(results.splice(0, items.length));
    } catch (error) {
      // One request's values may have spoilt the statement for all: alone, each succeeds or fails on its own. After a
      // broken connection nobody knows what was committed, so nothing is written again.
      if (group.length > 1 && error instanceof PostgresError) {
        await Promise.all(group.map((request) => this.#writeGroup([request])));
      } else for (const { reject } of group) reject(error);
    }
  }
}
