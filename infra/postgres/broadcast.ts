import type { Log } from "../log.ts";
import { openChannel } from "./channel.ts";
import type { Sql } from "./postgres.ts";

const HEARD_WITHIN_MS = 600;

/**
 * What this instance tells all others and waits for them to have heard: so what they remember is forgotten before the
 * change is answered that made it wrong. One that does not answer within 0.6 s is not waited for again until it speaks,
 * so whoever remembers something must also let it go by itself after a while.
 */
export interface Broadcast {
  /** Resolves when every instance known to listen has heard, or late. Never rejects. */
  send(payload: string): Promise<void>;
  stop(): Promise<void>;
}

interface Telling {
  number: number;
  done: () => void;
}

/**
 * Instances greet each other, by which they know whom to wait for; every one numbers what it tells, and the others say
 * up to which number they have heard. Messages: `hello <from>`, `here <from>`, `bye <from>`,
 * `told <from> <number> <payload>`, `heard <from> <to> <number>`.
 * @param o.onMessage gets what others tell, and `""` after every (re)connection, when something may have been missed.
 * @param o.listens false where LISTEN does not work: others hear this instance, which hears nobody.
 */
export async function openBroadcast(
  o: { sql: Sql; name: string; onMessage: (payload: string) => void; log: Log; listens: boolean },
): Promise<Broadcast> {
  const me = crypto.randomUUID();
  /** Up to which number each other instance has heard. */
  const peers = new Map<string, number>();
  const open = new Set<Telling>();
  let told = 0;
  /** What of it has come back: all hear in one order, so who greets after it has it behind them. */
  let echoed = 0;
  let isLeaving = false;
  let greet = () => {};

  const channel = await openChannel({ ...o, minIntervalMs: 0, onMessage: take });
  greet = () => channel.notify(`hello ${me}`);
  if (o.listens) greet();

  function take(message: string): void {
    if (isLeaving) return;
    if (message === "") {
      o.onMessage("");
      return greet();
    }
    const [kind = "", from = "", third = "", ...rest] = message.split(" ");
    if (from === me) {
      if (kind === "told") echoed = Number(third);
      return;
    }
    if (from === "") return o.onMessage(""); // from an instance of another version: whatever it was, something has changed
    if (kind === "told") {
      o.onMessage(rest.join(" "));
      return channel.notify(`heard ${me} ${from} ${third}`);
    }
    if (kind === "bye") peers.delete(from);
    else if (kind !== "heard") peers.set(from, Math.max(echoed, peers.get(from) ?? 0));
    else if (third === me) peers.set(from, Math.max(Number(rest[0]), peers.get(from) ?? 0));
    if (kind === "hello") channel.notify(`here ${me}`);
    settle();
  }

  function settle(): void {
    const heard = Math.min(...peers.values());
    for (const telling of open) if (telling.number <= heard) telling.done();
  }

  return {
    async send(payload) {
      const number = ++told;
      channel.notify(`told ${me} ${number} ${payload}`);
      if (peers.size === 0) return;
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => {
          for (const [peer, heard] of peers) if (heard < number) peers.delete(peer);
          settle();
        }, HEARD_WITHIN_MS);
        const telling = {
          number,
          done() {
            clearTimeout(late);
            open.delete(telling);
            resolve();
          },
        };
        open.add(telling);
      });
    },
    async stop() {
      isLeaving = true;
      if (o.listens) channel.notify(`bye ${me}`);
      await channel.stop();
      peers.clear();
      settle();
    },
  };
}
