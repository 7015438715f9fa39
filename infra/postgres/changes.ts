// Changes of rows that instances cache. A transaction announces them; caches of all instances follow after its commit.
import type { Log } from "../log.ts";
import { afterCommit, mainPool, type Pool, type Tx } from "./postgres.ts";
import { openChannel } from "./channel.ts";

/**
 * The topics of changes. Most of them invalidate caches: rights, active tenants, templates, totals, job types, pauses,
 * subscriptions to job events, OAuth clients, and looks and senders of tenants. `cancel requests` are requests to cancel
 * running jobs. An instance announces `new events` only to itself.
 */
export type ChangeTopic =
  | "rights"
  | "tenants"
  | "templates"
  | "user totals"
  | "job types"
  | "job pauses"
  | "event subscriptions"
  | "cancel requests"
  | "oauth clients"
  | "looks"
  | "new events";

/** A change, as instances send it to each other in JSON. */
export interface Change {
  topic: ChangeTopic;
  /** Ids of what changed; absent: anything may have changed. */
  ids?: string[];
}

/** Receives the ids of what changed; null: anything may have changed. */
type OnChange = (ids: string[] | null) => void | Promise<void>;

interface Subscribers {
  all: { topic: ChangeTopic; onChange: OnChange }[];
  broadcast: Broadcast | null;
}

/** More ids are not sent, because a notification has at most 8,000 bytes. */
const MAX_IDS = 100;

/** A writer has only its transaction, from which the pool is found, and by it the subscribers. */
const subscribersByPool = new WeakMap<Pool, Subscribers>();

function subscribersOf(pool: Pool): Subscribers {
  let subscribers = subscribersByPool.get(pool);
  if (!subscribers) subscribersByPool.set(pool, subscribers = { all: [], broadcast: null });
  return subscribers;
}

/** Calls `onChange` for every change of `topic` that this or another instance announces. */
export function subscribeToChanges(pool: Pool, topic: ChangeTopic, onChange: OnChange): void {
  subscribersOf(pool).all.push({ topic, onChange });
}

/**
 * After `tx` commits, notifies the subscribers of all instances. `transact` resolves after the other instances have
 * confirmed, or after the broadcast's timeout.
 */
export function announceChange(tx: Tx, { topic, ids = [] }: Change): void {
  const pool = mainPool(tx);
  const change: Change = ids.length > 0 && ids.length <= MAX_IDS ? { topic, ids } : { topic };
  afterCommit(tx, async () => {
    notifySubscribers(pool, change);
    await subscribersOf(pool).broadcast?.send(JSON.stringify(change));
  });
}

/** After `tx` commits, notifies the subscribers of this instance alone. `transact` waits for them. */
export function announceHere(tx: Tx, { topic, ids = [] }: Change): void {
  const { all } = subscribersOf(mainPool(tx));
  afterCommit(tx, async () => {
    await Promise.all(all.map((each) => each.topic === topic && each.onChange(ids)));
  });
}

/** @param change null: announcements may have been missed, so that any topic may have changed */
function notifySubscribers(pool: Pool, change: Change | null): void {
  for (const { topic, onChange } of subscribersOf(pool).all) {
    if (change === null || change.topic === topic) void onChange(change?.ids ?? null);
  }
}

/** Exchanges changes with other instances until the returned broadcast is stopped. */
export async function shareChanges(pool: Pool, o: { log: Log; listens: boolean }): Promise<Broadcast> {
  const onMessage = (payload: string) => notifySubscribers(pool, parseChange(payload));
  return subscribersOf(pool).broadcast = await openBroadcast({
    sql: pool,
    name: "steward_changes",
    onMessage,
    ...o,
  });
}

/** The received change; null for an empty message and for that of a version that does not send JSON. */
function parseChange(payload: string): Change | null {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}

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
  const unacknowledged = new Set<{ number: number; done: () => void }>();
  let lastNumber = 0;
  /**
   * Highest own number that came back to this instance. Notifications have one order, so a peer that says hello later has
   * received all messages up to this one.
   */
  let echoed = 0;
  let isLeaving = false;
  /** Messages arrive before the channel is open here. Their answers are sent then. */
  const early = new Set<string>();
  let notify = (payload: string): void => void early.add(payload);
  const greet = () => notify(`hello ${me}`);

  const channel = await openChannel({ ...o, minIntervalMs: 0, onMessage: receive });
  if (o.listens) greet();
  notify = (payload) => channel.notify(payload);
  early.forEach(notify);

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
      return notify(`heard ${me} ${from} ${third}`);
    }
    if (kind === "bye") peers.delete(from);
    else if (kind !== "heard") peers.set(from, Math.max(echoed, peers.get(from) ?? 0));
    else if (third === me) peers.set(from, Math.max(Number(rest[0]), peers.get(from) ?? 0));
    if (kind === "hello") notify(`here ${me}`);
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
