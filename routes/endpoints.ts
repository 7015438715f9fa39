import { AREA_NAMES, type AreasOn, hasAllAreas } from "../infra/areas.ts";
import { endpointsOf } from "./areas.ts";
import type { Endpoint } from "./shared/endpoint.ts";

/** Every route of the service, with all areas on. */
export const ENDPOINTS: readonly Endpoint[] = await endpointsOf({
  config: { AREAS: new Set(AREA_NAMES) },
  outbox: true,
});

/** The permissions that only routes of areas need which are off. */
export function unservedPermissions({ AREAS }: AreasOn, served: readonly Endpoint[]): ReadonlySet<string> {
  if (hasAllAreas({ AREAS })) return new Set();
  const used = new Set(["admin:system", ...served.flatMap(({ access }) => access.permissions)]);
  return new Set(ENDPOINTS.flatMap(({ access }) => access.permissions).filter((each) => !used.has(each)));
}
