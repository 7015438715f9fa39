import type { Tx } from "../../infra/postgres/postgres.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import type { EventTypes } from "./event_types.ts";

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
  /** Called in the transaction that deactivates an endpoint, with a sentence that says why. */
  onEndpointDisabled(tx: Tx, endpoint: DisabledEndpoint, reason: string): Promise<void>;
}
