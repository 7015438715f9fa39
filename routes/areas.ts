import { type AreaName, type AreasOn, keepsFiles } from "../infra/areas.ts";
import { loadLater } from "../infra/load_later.ts";
import { authRoutes } from "./auth/mod.ts";
import { operationsRoutes } from "./operations/mod.ts";
import { recordsRoutes } from "./records/mod.ts";
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
  [null, () => Promise.resolve(authRoutes)],
  [
    "oauth",
    async () => (await loadLater<typeof import("./oauth/mod.ts")>(import.meta, "./oauth/mod.ts")).oauthRoutes,
  ],
  ["access", async ({ config }) => {
    const { accessRoutes, userDataRoutes } = await loadLater<typeof import("./access/mod.ts")>(
      import.meta,
      "./access/mod.ts",
    );
    return accessRoutes.filter((spec) => keepsFiles(config) || !userDataRoutes.has(spec));
  }],
  [
    "access",
    async () => (await loadLater<typeof import("./scim/mod.ts")>(import.meta, "./scim/mod.ts")).scimRoutes,
  ],
  [
    "reports",
    async () =>
      (await loadLater<typeof import("./reports/mod.ts")>(import.meta, "./reports/mod.ts")).reportsRoutes,
  ],
  [
    "jobs",
    async () => (await loadLater<typeof import("./jobs/mod.ts")>(import.meta, "./jobs/mod.ts")).jobsRoutes,
  ],
  [
    "files",
    async () => (await loadLater<typeof import("./files/mod.ts")>(import.meta, "./files/mod.ts")).filesRoutes,
  ],
  [
    "notifications",
    async () =>
      (await loadLater<typeof import("./notifications/mod.ts")>(import.meta, "./notifications/mod.ts"))
        .notificationsRoutes,
  ],
  [
    null,
    ({ config }) =>
      Promise.resolve(
        recordsRoutes.filter(({ area }) => config.AREAS.has("records") || area === "Operations"),
      ),
  ],
  [
    "notifications",
    async () => (await loadLater<typeof import("./looks/mod.ts")>(import.meta, "./looks/mod.ts")).looksRoutes,
  ],
  [
    "events",
    async () =>
      (await loadLater<typeof import("./events/mod.ts")>(import.meta, "./events/mod.ts")).eventsRoutes,
  ],
  [
    null,
    ({ outbox }) =>
      Promise.resolve(operationsRoutes.filter(({ path }) => outbox || !path.startsWith("/dev/"))),
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
