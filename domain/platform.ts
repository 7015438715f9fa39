import type { ConnectionWait } from "../infra/postgres/connection_wait.ts";
import type { AccessPlatform } from "./access/platform.ts";
import type { ConsolePlatform } from "./console/platform.ts";
import type { EventPlatform } from "./events/platform.ts";
import type { DeliveryPlatform } from "./notifications/delivery/delivery_batches.ts";
import type { RemoteWorkPlatform } from "./jobs/remote/work_polls.ts";
import type { InstanceHealth } from "./operations/health.ts";
import type { OAuthPlatform } from "./oauth/platform.ts";
import type { RunningRequests } from "./requests/running_requests.ts";
import type { ReportPlatform } from "./reports/platform.ts";
import type { UserDataPlatform } from "./user_data/platform.ts";

/** Everything a running service consists of. Only what stands above the areas takes it: `main.ts`, routes, scripts. */
export interface ServicePlatform
  extends
    AccessPlatform,
    ConsolePlatform,
    DeliveryPlatform,
    EventPlatform,
    OAuthPlatform,
    RemoteWorkPlatform,
    ReportPlatform,
    UserDataPlatform {
  /** The reports of liveness and readiness. */
  health: InstanceHealth;
  /** Tells if requests wait too long for a database connection. */
  connectionWait: ConnectionWait;
  /** Bounds what requests hold at the same time. */
  runningRequests: RunningRequests;
}
