import { mainPool } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";

const CHANNEL = "steward_in_app";
/** User ids in one NOTIFY: its payload holds 8,000 bytes, and a UUID with its comma has 37. */
const USERS_PER_PAYLOAD = 200;

/** Wakes the open streams of these users on every instance. If the message is lost, streams find the rows by polling. */
export async function wakeUsers(p: Pick<Platform, "sql" | "log">, userIds: string[]): Promise<void> {
  const payloads: string[] = [];
  for (let from = 0; from < userIds.length; from += USERS_PER_PAYLOAD) {
    payloads.push(userIds.slice(from, from + USERS_PER_PAYLOAD).join(","));
  }
  try {
    await p.sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) payload`;
  } catch (error) {
    p.log.warn("could not notify streams of new in-app notifications", { error });
  }
}

/** The wake-ups of one open stream. */
export interface WakeUpListener {
  /** Waits for a wake-up. Resolves to true at one, also if it came since the last call; to false after `ms`. */
  wait(ms: number): Promise<boolean>;
  close(): void;
}

/** Receives the wake-ups of users on this instance. It starts to LISTEN when the first stream opens. */
export class UserWakeUps {
  #wakersByUser = new Map<string, Set<() => void>>();
  #isListening = false;

  constructor(private readonly p: Pick<Platform, "sql" | "config" | "log">) {}

  /** @param signal its abort counts as a wake-up, so that a waiting stream can end */
  listen(userId: string, signal: AbortSignal): WakeUpListener {
    let isWoken = signal.aborted;
    let resolveWait = () => {};
    const wake = () => {
      isWoken = true;
      resolveWait();
    };
    const wakers = this.#wakersByUser.get(userId) ?? new Set();
    this.#wakersByUser.set(userId, wakers.add(wake));
    signal.addEventListener("abort", wake, { once: true });
    this.#connect(); // not awaited: it wakes all streams once it listens
    return {
      async wait(ms) {
        if (!isWoken) {
          const { promise, resolve } = Promise.withResolvers<void>();
          const timer = setTimeout(resolve, ms);
          resolveWait = resolve;
          await promise;
          clearTimeout(timer);
        }
        const wasWoken = isWoken;
        isWoken = false;
        return wasWoken;
      },
      close: () => {
        signal.removeEventListener("abort", wake);
        wakers.delete(wake);
        if (wakers.size === 0) this.#wakersByUser.delete(userId);
      },
    };
  }

  #connect(): void {
    if (!this.p.config.DATABASE_LISTEN || this.#isListening) return;
    this.#isListening = true;
    const wakeAll = () => this.#wakersByUser.forEach((wakers) => wakers.forEach((wake) => wake()));
    mainPool(this.p.sql).listen(CHANNEL, (payload) => {
      for (const userId of payload.split(",")) this.#wakersByUser.get(userId)?.forEach((wake) => wake());
    }, wakeAll).catch((error) => {
      this.#isListening = false; // the next stream that opens tries again
      this.p.log.warn("cannot LISTEN for in-app notifications; streams poll instead", { error });
    });
  }
}
