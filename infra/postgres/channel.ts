import type { Log } from "../log.ts";
import type { Pool } from "./postgres.ts";

/**
 * A named LISTEN/NOTIFY channel between instances. Notifications are hints: they may be lost or duplicated. A receiver
 * reads the current state from the tables. A receiver that must not miss a change also polls.
 */
export interface Channel {
  /**
   * Notifies every instance, including this one. Calls during a send are batched into the next; duplicates are dropped.
   */
  notify(payload?: string): void;
  /**
   * True if nothing is being sent and the interval since the last notification has passed: the caller's own statement may
   * then notify, which saves another one. The next interval begins with it.
   */
  takeTurn(): boolean;
  stop(): Promise<void>;
}

/**
 * Listens on `name`. `onMessage` receives each payload, and `""` after every (re)connection: notifications may have been
 * missed. A NOTIFY holds a global lock during its commit, so an instance sends them one after the other, at least
 * `minIntervalMs` apart, and outside of longer transactions.
 * @param o.listens false if LISTEN does not work; notifications are still sent, for instances that can listen.
 */
export async function openChannel(
  o: {
    sql: Pool;
    name: string;
    onMessage: (payload: string) => void;
    log: Log;
    listens: boolean;
    minIntervalMs: number;
  },
): Promise<Channel> {
  const { sql, name, log } = o;
  const listening = o.listens ? await sql.listen(name, o.onMessage, () => o.onMessage("")) : null;
  const waiting = new Set<string>();
  let quiet: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | null = null;

  async function send(): Promise<void> {
    const payloads = [...waiting];
    waiting.clear();
    try {
      await sql`select pg_notify(${name}, payload) from unnest(${payloads}::text[]) payload`;
    } catch (error) {
      log.warn("a notification to other instances was lost", { channel: name, error });
    }
  }

  function sendWaiting(): void {
    quiet = undefined;
    if (waiting.size === 0) return;
    sending = send().then(() => {
      sending = null;
      if (o.minIntervalMs > 0) quiet = setTimeout(sendWaiting, o.minIntervalMs);
      else sendWaiting();
    });
  }

  return {
    notify(payload = "") {
      waiting.add(payload);
      if (!sending && quiet === undefined) sendWaiting();
    },
    takeTurn() {
      if (sending || quiet !== undefined) return false;
      quiet = setTimeout(sendWaiting, o.minIntervalMs);
      return true;
    },
    async stop() {
      while (sending || waiting.size > 0) {
        if (!sending) sendWaiting();
        await sending;
        clearTimeout(quiet);
      }
      clearTimeout(quiet);
      await listening?.unlisten();
    },
  };
}
