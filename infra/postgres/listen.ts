import type { Log } from "../log.ts";
import type { Sql } from "./postgres.ts";

const QUIET_MS = 20;

/**
 * A named bell between instances over LISTEN/NOTIFY. Rings are hints: they may be lost or doubled, so whoever
 * hears one looks at the tables, and whoever must not miss one also looks now and then.
 */
export interface Channel {
  /** Tells every instance, this one included; several calls within 20 ms may travel as one payload each. */
  ring(payload?: string): void;
  stop(): Promise<void>;
}

/**
 * Listens on `name`; `heard` gets each payload, and `""` after every (re)connection, when rings may have been missed.
 * Payloads are sent outside of any transaction: NOTIFY inside one would make all commits queue behind each other.
 * @param listens false where LISTEN does not work; rings are still sent for instances that hear them.
 */
export async function openChannel(
  o: { sql: Sql; name: string; heard: (payload: string) => void; log: Log; listens: boolean },
): Promise<Channel> {
  const { sql, name, log } = o;
  const listening = o.listens ? await sql.listen(name, o.heard, () => o.heard("")) : null;
  const waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> = Promise.resolve();

  const send = () => {
    timer = undefined;
    if (waiting.size === 0) return;
    const payloads = [...waiting];
    waiting.clear();
    timer = setTimeout(send, QUIET_MS); // the next ones wait for this quiet time and then go together
    sending = sql`select pg_notify(${name}, payload) from unnest(${payloads}::text[]) payload`
      .then(() => {}, (error) => log.warn("a ring to other instances was lost", { channel: name, error }));
  };
  return {
    ring(payload = "") {
      waiting.add(payload);
      if (timer === undefined) send();
    },
    async stop() {
      if (timer !== undefined) clearTimeout(timer);
      timer = undefined;
      send();
      if (timer !== undefined) clearTimeout(timer);
      await sending;
      await listening?.unlisten();
    },
  };
}
