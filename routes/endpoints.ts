import { AREA_NAMES } from "../infra/areas.ts";
import { endpointsOf } from "./areas.ts";
import type { Endpoint } from "./shared/endpoint.ts";

/** Every route of the service, with all areas on. */
export const ENDPOINTS: readonly Endpoint[] = await endpointsOf({
  config: { AREAS: new Set(AREA_NAMES) },
  outbox: true,
});
