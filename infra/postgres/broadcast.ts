import type { Log } from "../log.ts";
import { openChannel } from "./channel.ts";
import type { Pool } from "./postgres.ts";

const ACKNOWLEDGE_MS = 600;

/**
 * Messages to all other instances, with acknowledgement. Example: a change clears the caches of the other instances
 * before the request that made it is answered. If an instance does not acknowledge within 0.6 s, later messages do not
 * wait for it until it sends something again. So cache entries must also expire by themselves.
 */
export interface Broadcast {
  /** Resolves when every known listening instance has acknowledged the message, or after 0.6 s. Never rejects. */
  send(payload: string): Promise<void>;
  stop(): Promise<void>;
}

interface Unacknowledged {
  number: number;
  done: () => void;
}

/**
 * Opens a broadcast over the LISTEN/NOTIFY channel `name`. Instances announce themselves, so each knows whose
 * acknowledgement to wait for. Each instance numbers its messages. Others acknowledge the highest number they received.
 * Protocol: `hello <from>`, `here <from>`, `bye <from>`, `told <from> <number> <payload>`, `heard <from> <to> <number>`.
 * @param o.onMessage receives messages of others, and `""` after every (re)connection: messages may have been missed.
 * @param o.listens false if LISTEN does not work: this instance sends messages but receives none.
 */
export async function openBroadcast(
  o: { sql: Pool; name: string; onMessage: (payload: string) => void; log: Log; listens: boolean },
): Promise<Broadcast> {
  const me = crypto.randomUUID();
  /** Highest number that each other instance has acknowledged. */
  const peers = new Map<string, number>();
  const unacknowledged = new Set<Unacknowledged>();
  let lastNumber = 0;
  /**
   * Highest own number that came back to this instance. Notifications have one order, so a peer that says hello later has
   * received all messages up to this one.
   */
  let echoed = 0;
  let isLeaving = false;
  let greet = () => {};

  const channel = await openChannel({ ...o, minIntervalMs: 0, onMessage: receive });
  greet = () => channel.notify(`hello ${me}`);
  if (o.listens) greet();

  function receive(message: string): void {
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
    if (from === "") return o.onMessage(""); // from an instance of another version: it may report any change
    if (kind === "told") {
      o.onMessage(rest.join(" "));
      return channel.notify(`heard ${me} ${from} ${third}`);
    }
    if (kind === "bye") peers.delete(from);
    else if (kind !== "heard") peers.set(from, Math.max(echoed, peers.get(from) ?? 0));
    else if (third === me) peers.set(from, Math.max(Number(rest[0]), peers.get(from) ?? 0));
    if (kind === "hello") channel.notify(`here ${me}`);
    resolveAcknowledged();
  }

  function resolveAcknowledged(): void {
    const acknowledged = Math.min(...peers.values());
    for (const message of unacknowledged) if (message.number <= acknowledged) message.done();
  }

  return {
    async send(payload) {
      const number = ++lastNumber;
      channel.notify(`told ${me} ${number} ${payload}`);
      if (peers.size === 0) return;
      await new Promise<void>((resolve) => {
        const timeout = setTimeout(() => {
          for (const [peer, acknowledged] of peers) if (acknowledged < number) peers.delete(peer);
          resolveAcknowledged();
        }, ACKNOWLEDGE_MS);
        const message = {
          number,
          done() {
            clearTimeout(timeout);
            unacknowledged.delete(message);
            resolve();
          },
        };
        unacknowledged.add(message);
      });
    },
    async stop() {
      isLeaving = true;
      if (o.listens) channel.notify(`bye ${me}`);
      await channel.stop();
      peers.clear();
      resolveAcknowledged();
    },
  };
}
