import { type Problem, problem } from "../problems/problem.ts";

const RETRY_AFTER_S = "2";

export interface RequestBounds {
  /** Requests that are processed at the same time. */
  running: number;
  /** Polls and streams that are open at the same time. */
  waiting: number;
  /** Of these, those of one person: browsers open a stream for each page. */
  waitingOfPerson: number;
  /** Of these, those of one API key or service account, which may have many workers. */
  waitingOfProgram: number;
  /** Bytes of the bodies that are in memory at the same time. */
  bodyBytes: number;
}

/** Gives back what a request took. Further calls do nothing. */
export type Release = () => void;

/**
 * Bounds what the requests of an instance hold, so that neither memory nor the time in queues grows without limit. A
 * request that would exceed a bound is refused at once.
 */
export class RunningRequests {
  #running = 0;
  #waiting = 0;
  #bodyBytes = 0;
  readonly #waitingOf = new Map<string, number>();

  constructor(private readonly bounds: RequestBounds) {}

  /** Number of requests that are processed, without polls and streams. */
  get running(): number {
    return this.#running;
  }

  /** Number of open polls and streams. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Admits a request. @throws INSTANCE_BUSY_UNAVAILABLE */
  run(): Release {
    if (this.#running >= this.bounds.running) {
      throw busy(`This instance already processes ${this.#running} requests.`);
    }
    this.#running++;
    return once(() => this.#running--);
  }

  /** Admits a poll or stream. @throws INSTANCE_BUSY_UNAVAILABLE */
  wait(caller: { id: string; isProgram: boolean }): Release {
    const { waiting, waitingOfPerson, waitingOfProgram } = this.bounds;
    const own = this.#waitingOf.get(caller.id) ?? 0;
    const mostOwn = caller.isProgram ? waitingOfProgram : waitingOfPerson;
    if (own >= mostOwn) throw busy(`The caller already has ${own} open polls and streams on this instance.`);
    if (this.#waiting >= waiting) {
      throw busy(`This instance already has ${this.#waiting} open polls and streams.`);
    }
    this.#waiting++;
    this.#waitingOf.set(caller.id, own + 1);
    return once(() => {
      this.#waiting--;
      const left = (this.#waitingOf.get(caller.id) ?? 1) - 1;
      if (left === 0) this.#waitingOf.delete(caller.id);
      else this.#waitingOf.set(caller.id, left);
    });
  }

  /** Counts a part of a body that was received. @throws INSTANCE_BUSY_UNAVAILABLE */
  takeBytes(bytes: number): void {
    if (this.#bodyBytes + bytes > this.bounds.bodyBytes) {
      throw busy(`The bodies of other requests already take ${this.#bodyBytes} bytes on this instance.`);
    }
    this.#bodyBytes += bytes;
  }

  releaseBytes(bytes: number): void {
    this.#bodyBytes -= bytes;
  }
}

function once(release: () => void): Release {
  let isDone = false;
  return () => {
    if (!isDone) release();
    isDone = true;
  };
}

const busy = (reason: string): Problem =>
  problem("INSTANCE_BUSY_UNAVAILABLE", `${reason} The request was not tried.`, {
    headers: { "retry-after": RETRY_AFTER_S },
  });
