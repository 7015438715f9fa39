import type { Platform } from "../../shared/platform.ts";
import type { EventFeed, WaitingPoll } from "./event_feed.ts";
import { type EventPage, type EventScope, fitting, numberEvents, readPage, recentFrom } from "./read_page.ts";

export interface EventPoll {
  scope: EventScope;
  userId: string;
  /** The poll answers events after this position. */
  after: number;
  limit: number;
  /** Maximum wait of a poll without events, in ms. */
  waitMs: number;
  /** Ends the wait: the client has gone, or the request has taken too long. */
  signals: AbortSignal[];
  /** Called after a wait. Throws if the caller may not poll any longer; otherwise returns the caller's current scope. */
  renew(): Promise<EventScope>;
}

type PollPlatform = Pick<Platform, "sql" | "clock" | "stopping"> & { eventFeed: EventFeed };

/**
 * Answers the events after a position; without any, waits for one. A waiting poll holds no connection to the database
 * and makes no queries.
 */
export async function pollEvents(p: PollPlatform, o: EventPoll): Promise<EventPage> {
  if (o.waitMs === 0) return await readCommitted(p, o);
  const until = performance.now() + o.waitMs;
  // A change of rights during the read below also resolves it.
  let woken = Promise.withResolvers<void>();
  const poll: WaitingPoll = {
    scope: o.scope,
    userId: o.userId,
    found: [],
    upTo: 0,
    wake: () => woken.resolve(),
  };
  try {
    await p.eventFeed.join(poll);
    const page = await readCommitted(p, o);
    if (page.items.length > 0) return page;
    for (;;) {
      const isNew = poll.found.filter(({ position }) => position > page.next);
      if (isNew.length > 0) return pageOf(isNew, poll, o.limit);
      const restMs = until - performance.now();
      const ends = restMs <= 0 || p.stopping.aborted || o.signals.some(({ aborted }) => aborted);
      if (ends) return { items: [], next: Math.max(page.next, poll.upTo), isComplete: true };
      await waitFor(woken, restMs, o.signals);
      woken = Promise.withResolvers();
      const scope = await o.renew();
      if (JSON.stringify(scope) !== JSON.stringify(o.scope)) {
        return { items: [], next: page.next, isComplete: false };
      }
    }
  } finally {
    p.eventFeed.leave(poll);
  }
}

/** Reads pages until one has events or all events were looked at. Events that have committed are numbered first. */
async function readCommitted(
  p: PollPlatform,
  { scope, after, limit, signals }: EventPoll,
): Promise<EventPage> {
  await p.eventFeed.numberOld();
  const recent = recentFrom(p.clock);
  let page = await readPage(p.sql, scope, { after, limit, recent });
  if (page.hasUnnumbered && page.items.length < limit) {
    await numberEvents(p.sql, recent);
    page = await readPage(p.sql, scope, { after, limit, recent });
  }
  while (page.items.length === 0 && !page.isComplete && !signals.some(({ aborted }) => aborted)) {
    page = await readPage(p.sql, scope, { after: page.next, limit, recent });
  }
  return page;
}

function pageOf(events: WaitingPoll["found"], { upTo }: WaitingPoll, limit: number): EventPage {
  const items = fitting(events.slice(0, limit));
  const isComplete = items.length === events.length;
  return { items, next: isComplete ? upTo : items.at(-1)?.position ?? upTo, isComplete };
}

/** Resolves when `woken` is resolved, after `ms`, or when a signal aborts. */
async function waitFor(woken: PromiseWithResolvers<void>, ms: number, signals: AbortSignal[]): Promise<void> {
  const timer = setTimeout(woken.resolve, ms);
  const onAbort = () => woken.resolve();
  for (const signal of signals) signal.addEventListener("abort", onAbort, { once: true });
  try {
    await woken.promise;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  }
}
