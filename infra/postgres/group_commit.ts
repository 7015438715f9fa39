import { PostgresError, TooManyWaiting } from "./failures.ts";

export interface GroupCommitOptions<I> {
  /** Number of concurrent writes. While one waits for the disk, the next can be prepared. */
  concurrency?: number;
  /** Maximum items of one write. A single request with more items is written alone. */
  maxItems?: number;
  /**
   * Pause after a write, in ms, to collect more requests. A request that arrives after the pause is written at once.
   */
  pauseMs?: number;
  /** Maximum total weight of one write, for items of very different sizes. */
  maxWeight?: number;
  /** Maximum number of requests that wait for a write. Further ones fail at once, before memory runs out. */
  maxWaiting?: number;
  /** Weight of one item, such as its size in bytes. */
  weigh?(item: I): number;
}

interface Request<I, O> {
  items: I[];
  resolve: (results: O[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Batches writes of many callers. Requests that arrive during a write share the next one, and so one commit. A single
 * request does not wait. Each caller's promise resolves after its items are committed.
 */
export class GroupCommit<I, O> {
  #waiting: Request<I, O>[] = [];
  #writing = 0;
  readonly #o: Required<GroupCommitOptions<I>>;

  /**
   * @param writeAll writes all items atomically, in one statement or transaction; returns results in the same order.
   */
  constructor(
    private readonly writeAll: (items: I[]) => Promise<O[]>,
    {
      concurrency = 2,
      maxItems = 500,
      pauseMs = 0,
      maxWeight = Infinity,
      maxWaiting = 10_000,
      weigh = () => 0,
    }: GroupCommitOptions<I> = {},
  ) {
    this.#o = { concurrency, maxItems, pauseMs, maxWeight, maxWaiting, weigh };
  }

  /** Writes items atomically. @throws TooManyWaiting if `maxWaiting` requests wait already */
  async write(items: I[]): Promise<O[]> {
    if (this.#waiting.length >= this.#o.maxWaiting) throw new TooManyWaiting(this.#waiting.length);
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject });
      this.#next();
    });
  }

  /** Writes one item. */
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
      // The values of one request may make the statement fail for all. So each request is retried alone. After a
      // broken connection, items may have been committed, so nothing is written again.
      if (group.length > 1 && error instanceof PostgresError) {
        await Promise.all(group.map((request) => this.#writeGroup([request])));
      } else for (const { reject } of group) reject(error);
    }
  }
}
