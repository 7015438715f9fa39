import type { Platform } from "../../shared/platform.ts";

const CHANNEL = "steward_in_app";
/** A payload of NOTIFY holds 8,000 bytes, and a UUID with its comma is 37. */
const USERS_AT_ONCE = 200;

/** Tells every instance that these users have something new; a lost ring is made up for by the next look. */
export async function ringUsers(p: Pick<Platform, "sql" | "log">, userIds: string[]): Promise<void> {
  const payloads: string[] = [];
  for (let from = 0; from < userIds.length; from += USERS_AT_ONCE) {
    payloads.push(userIds.slice(from, from + USERS_AT_ONCE).join(","));
  }
  try {
    await p.sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) payload`;
  } catch (error) {
    p.log.warn("a ring for in-app notifications was lost", { error });
  }
}

/** One open stream's ear. */
export interface UserEar {
  /** Settles at a ring, also one since the last call (true), or after `ms` (false). */
  heard(ms: number): Promise<boolean>;
  close(): void;
}

/** Hears rings for users on this instance; connects when the first stream opens. */
export class UserBell {
  #ears = new Map<string, Set<() => void>>();
  #isListening = false;

  constructor(private readonly p: Pick<Platform, "sql" | "config" | "log">) {}

  /** @param signal rings when it aborts, so that who waits goes on to its end */
  listen(userId: string, signal: AbortSignal): UserEar {
    let rung = signal.aborted;
    let wake = () => {};
    const ring = () => {
      rung = true;
      wake();
    };
    const ears = this.#ears.get(userId) ?? new Set();
    this.#ears.set(userId, ears.add(ring));
    signal.addEventListener("abort", ring, { once: true });
    this.#connect(); // not waited for: all are rung once it listens
    return {
      async heard(ms) {
        if (!rung) {
          const { promise, resolve } = Promise.withResolvers<void>();
          const timer = setTimeout(resolve, ms);
          wake = resolve;
          await promise;
          clearTimeout(timer);
        }
        const wasRung = rung;
        rung = false;
        return wasRung;
      },
      close: () => {
        signal.removeEventListener("abort", ring);
        ears.delete(ring);
        if (ears.size === 0) this.#ears.delete(userId);
      },
    };
  }

  #connect(): void {
    if (!this.p.config.DATABASE_LISTEN || this.#isListening) return;
    this.#isListening = true;
    const ringAll = () => this.#ears.forEach((ears) => ears.forEach((ring) => ring()));
    this.p.sql.listen(CHANNEL, (payload) => {
      for (const userId of payload.split(",")) this.#ears.get(userId)?.forEach((ring) => ring());
    }, ringAll).catch((error) => {
      this.p.log.warn("rings for in-app notifications are not heard yet; streams look by themselves", {
        error,
      });
    });
  }
}
