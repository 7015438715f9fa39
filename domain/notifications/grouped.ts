import { PostgresError } from "../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../infra/postgres/shared_transaction.ts";

export interface GroupedOptions<I> {
  /** Writes under way at once: while one waits for the disk, the next is being prepared. */
  atOnce: number;
  largest: number;
  /** After a write the next waits so long for company; who comes later than that waits for nothing. */
  pauseMs?: number;
  /** Most `weigh` of one write, where items differ much in size. */
  heaviest?: number;
  weigh?(item: I): number;
}

interface Waiting<I, O> {
  item: I;
  resolve: (result: O) => void;
  reject: (error: unknown) => void;
}

/**
 * Does the same thing for many callers who each come with one item. What comes in while writes are under way goes
 * together in the next one, so many share a commit and a single one waits for nobody. Each is answered once its write
 * has ended.
 */
export class Grouped<I, O> {
  #waiting: Waiting<I, O>[] = [];
  #writing = 0;

  /** @param write does all of them in one statement or transaction, all or none; answers in their order. */
  constructor(
    private readonly write: (items: I[]) => Promise<O[]>,
    private readonly o: GroupedOptions<I>,
  ) {}

  /** Within a shared transaction the item goes into that one, alone. */
  async add(item: I): Promise<O> {
    if (sharedTransaction()) return (await this.write([item]))[0] as O;
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#writing < this.o.atOnce && this.#waiting.length > 0) {
      const group = this.#takeGroup();
      this.#writing++;
      this.#write(group).then(() => this.#pause()).finally(() => {
        this.#writing--;
        this.#next();
      });
    }
  }

  async #pause(): Promise<void> {
    const { pauseMs } = this.o;
    if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }

  #takeGroup(): Waiting<I, O>[] {
    const { largest, heaviest = Infinity, weigh = () => 0 } = this.o;
    let weight = 0;
    const end = this.#waiting.findIndex(({ item }, index) =>
      index === largest || (weight += weigh(item)) > heaviest && index > 0
    );
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #write(group: Waiting<I, O>[]): Promise<void> {
    try {
      const results = await this.write(group.map(({ item }) => item));
      group.forEach(({ resolve }, index) => resolve(results[index] as O));
    } catch (error) {
      // One item's values may have spoilt the statement for all: alone, each succeeds or fails on its own. After a
      // broken connection nobody knows what was committed, so nothing is written again.
      if (group.length > 1 && error instanceof PostgresError) {
        await Promise.all(group.map((waiting) => this.#write([waiting])));
      } else for (const { reject } of group) reject(error);
    }
  }
}
