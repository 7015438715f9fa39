/** Writes under way at once: while one waits for the disk, the next is being prepared. */
const AT_ONCE = 2;
const LARGEST_WRITE = 500;

interface Request<T, R> {
  items: T[];
  resolve: (results: R[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Writes what many callers want written one by one. What comes in while writes are under way goes together in the next
 * one, so many callers share a commit and a single one waits for nobody. Each is answered once its own is committed.
 */
export class GroupCommit<T, R> {
  #waiting: Request<T, R>[] = [];
  #writing = 0;

  /** @param writeAll writes all items or none, and returns a result for each, in their order */
  constructor(private readonly writeAll: (items: T[]) => Promise<R[]>) {}

  /** Writes items, all or none. */
  write(items: T[]): Promise<R[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#writing < AT_ONCE && this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      this.#writing++;
      this.#writeBatch(batch).finally(() => {
        this.#writing--;
        this.#next();
      });
    }
  }

  #takeBatch(): Request<T, R>[] {
    let size = 0;
    const end = this.#waiting.findIndex(({ items }, index) =>
      (size += items.length) > LARGEST_WRITE && index > 0
    );
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #writeBatch(batch: Request<T, R>[]): Promise<void> {
    try {
      const results = await this.writeAll(batch.flatMap(({ items }) => items));
      for (const { items, resolve } of batch) resolve(results.splice(0, items.length));
    } catch (error) {
      // One request's values may have spoilt the statement for all: alone, each succeeds or fails on its own.
      if (batch.length > 1) await Promise.all(batch.map((request) => this.#writeBatch([request])));
      else batch[0]?.reject(error);
    }
  }
}
