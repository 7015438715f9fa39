// Changes of rows that instances cache. A transaction announces them; caches of all instances follow after its commit.
import type { Log } from "../log.ts";
import { type Broadcast, openBroadcast } from "./broadcast.ts";
import { afterCommit, mainPool, type Pool, type Tx } from "./postgres.ts";

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
