import type { Tx } from "../../infra/postgres/postgres.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import type { EventTypes } from "./event_types.ts";
import type { JobEvents } from "./job_events.ts";
import type { EventFeed } from "./feed/event_feed.ts";

/** An endpoint that was deactivated because its deliveries failed. */
export interface DisabledEndpoint {
  id: string;
  tenantId: string;
  url: string;
  createdBy: string | null;
  disabledReason: "Gone" | "Failing";
  isActive: boolean;
}

export interface EventPlatform extends JobPlatform {
  /** The event types that webhook endpoints can subscribe to. */
  eventTypes: EventTypes;
  /** New events for polls that wait on this instance. */
  eventFeed: EventFeed;
  /** Events of ended attempts of jobs. */
  jobEvents: JobEvents;
  /** Called in the transaction that deactivates an endpoint, with a sentence that says why. */
  onEndpointDisabled(tx: Tx, endpoint: DisabledEndpoint, reason: string): Promise<void>;
}
