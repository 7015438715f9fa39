// What an instance remembers of the database's rows for a moment, it and all others forget when one changes them.
import type { Announcements } from "./announcements.ts";
import { afterCommit, type Sql, type Tx } from "./postgres.ts";

/** What is remembered, as instances tell each other. */
export type Topic = "templates" | "user totals";

interface Memories {
  forgets: Map<string, () => void>;
  others: Announcements | null;
}

const known = new WeakMap<Sql, Memories>();

function memoriesOf(sql: Sql): Memories {
  let memories = known.get(sql);
  if (!memories) known.set(sql, memories = { forgets: new Map(), others: null });
  return memories;
}

/** Has `forget` run whenever this or another instance says that what `topic` names has changed. */
export function onChange(sql: Sql, topic: Topic, forget: () => void): void {
  memoriesOf(sql).forgets.set(topic, forget);
}

/** Forgets here once `tx` has committed, and has the other instances told before the change is answered. */
export function changed(sql: Sql, tx: Tx, topic: Topic): void {
  afterCommit(tx, async () => {
    heardOfChange(sql, topic);
    await known.get(sql)?.others?.tell(topic);
  });
}

/** Takes what was told: a topic, or nothing when something may have been missed. */
export function heardOfChange(sql: Sql, topic: string): void {
  for (const [name, forget] of known.get(sql)?.forgets ?? []) if (topic === "" || topic === name) forget();
}

/** Where other instances are told; what they tell must come to `heardOfChange`. */
export function connectChanges(sql: Sql, others: Announcements): void {
  memoriesOf(sql).others = others;
}
