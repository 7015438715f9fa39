/**
 * States of a worker:
 *
 *     Starting ──opened──► Ready ──claim──► Claiming ──failed──► Retrying
 *                          ▲ ▲ ▲              │   │                 │
 *                          │ │ └─────more─────┘   │none             │
 *                          │ └──────────────retry─┼─────────────────┘
 *                          │                      ▼
 *                          ├──────woken──────── Waiting
 *                          └─givenBack─ GivingBack ◄──giveBack── Ready, Waiting
 *
 *     every state but Starting ──stop──► Draining ──ended──► Stopped
 */
export type WorkerState =
  /** Opens its lease. */
  | "Starting"
  /** More jobs may be due. It claims as soon as it has room. */
  | "Ready"
  | "Claiming"
  /** No other job was due. A wake-up or the poll makes it search again. */
  | "Waiting"
  /** Pauses after a failed claim. */
  | "Retrying"
  /** Returns prefetched jobs that did not start in time. */
  | "GivingBack"
  /** Claims and starts no jobs. Running jobs have a grace period. */
  | "Draining"
  | "Stopped";

const TRANSITIONS = {
  Starting: { opened: "Ready" },
  Ready: { claim: "Claiming", giveBack: "GivingBack", stop: "Draining" },
  Claiming: { more: "Ready", none: "Waiting", failed: "Retrying", stop: "Draining" },
  Waiting: { woken: "Ready", giveBack: "GivingBack", stop: "Draining" },
  Retrying: { retry: "Ready", stop: "Draining" },
  GivingBack: { givenBack: "Ready", stop: "Draining" },
  Draining: { ended: "Stopped" },
  Stopped: {},
} as const satisfies Record<WorkerState, Record<string, WorkerState>>;

type EventsOf<S> = S extends WorkerState ? keyof typeof TRANSITIONS[S] : never;
export type WorkerEvent = EventsOf<WorkerState>;

/** The state after an event. An event without a transition changes nothing, such as a claim that ends after `stop`. */
export const stateAfter = (state: WorkerState, event: WorkerEvent): WorkerState =>
  (TRANSITIONS[state] as Partial<Record<WorkerEvent, WorkerState>>)[event] ?? state;
