import { type AreaName, type AreasOn, keepsFiles } from "../infra/areas.ts";
import type { Endpoint } from "./shared/endpoint.ts";

/** The parts of a service that decide which routes it has. */
interface Served {
  config: AreasOn;
  /** Null: the service has no outbox. */
  outbox: unknown;
}

type Routes = readonly [area: AreaName | null, load: (served: Served) => Promise<readonly Endpoint[]>];

/** All routes, each list with the area that it belongs to; null: every service has them. An area that is off is not loaded. */
const ROUTES = [
  [null, async () => (await import("./auth/mod.ts")).authRoutes],
  ["oauth", async () => (await import("./oauth/mod.ts")).oauthRoutes],
  ["access", async ({ config }) => {
    const { accessRoutes, userDataRoutes } = await import("./access/mod.ts");
    return accessRoutes.filter((spec) => keepsFiles(config) || !userDataRoutes.has(spec));
  }],
  ["access", async () => (await import("./scim/mod.ts")).scimRoutes],
  ["reports", async () => (await import("./reports/mod.ts")).reportsRoutes],
  ["jobs", async () => (await import("./jobs/mod.ts")).jobsRoutes],
  ["files", async () => (await import("./files/mod.ts")).filesRoutes],
  ["notifications", async () => (await import("./notifications/mod.ts")).notificationsRoutes],
  [
    null,
    async ({ config }) =>
      (await import("./records/mod.ts")).recordsRoutes.filter(({ area }) =>
        config.AREAS.has("records") || area === "Operations"
      ),
  ],
  ["notifications", async () => (await import("./looks/mod.ts")).looksRoutes],
  ["events", async () => (await import("./events/mod.ts")).eventsRoutes],
  [
    null,
    async ({ outbox }) =>
      (await import("./operations/mod.ts")).operationsRoutes.filter(({ path }) =>
        outbox || !path.startsWith("/dev/")
      ),
  ],
] as const satisfies readonly Routes[];

type Loaded = Awaited<ReturnType<typeof ROUTES[number][1]>>[number];

/** Every route by its operation id, with the types of its parameters, body and answer. */
export type Operations = { [O in Loaded as O["id"]]: O };

/**
 * The routes that a service answers: those of the areas that are on. Without files, those of data requests and imports of
 * users are missing; without an outbox, `/dev/outbox`.
 */
export async function endpointsOf(served: Served): Promise<readonly Endpoint[]> {
  const on = ROUTES.filter(([area]) => area === null || served.config.AREAS.has(area));
  return (await Promise.all(on.map(([, load]) => load(served)))).flat();
}
