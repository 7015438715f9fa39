import { EVENT_TYPES } from "../../domain/events/event_types.ts";
import { jobTypesOf } from "../../domain/job_types.ts";
import { AREA_NAMES } from "../../infra/areas.ts";
import { CHANNELS } from "../../domain/notifications/status.ts";
import { BUILT_IN_REPORTS } from "../../domain/reports/templates/mod.ts";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import { ENDPOINTS } from "../endpoints.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import type { LoadedExtension } from "./load_extensions.ts";

/** The names of areas that are off are in use too: an extension fits every service. */
const JOB_TYPES = await jobTypesOf({ AREAS: new Set(AREA_NAMES) });

/** The names that are in use, each with its owner: the service or an extension. */
export class Names {
  #owners = new Map<string, string>();
  #routes: (Route & { owner: string })[] = [];

  constructor(extensions: readonly LoadedExtension[]) {
    this.reserve("permissions", CATALOG_PERMISSIONS.map(({ code }) => code));
    this.reserve("events", Object.keys(EVENT_TYPES));
    this.reserve("jobs", JOB_TYPES.map(({ name }) => name));
    this.reserve("reports", BUILT_IN_REPORTS.map(({ id }) => id));
    this.reserve("channels", CHANNELS.map((channel) => channel.toLowerCase()));
    this.reserve("operations", ENDPOINTS.map(({ id }) => id));
    this.#routes = ENDPOINTS.flatMap(routesOf).map((route) => ({ ...route, owner: "the service" }));
    for (const { name, module } of extensions) this.#take(name, "name", name, `the extension in ${module}`);
  }

  /** Reserves names of a kind for the service. */
  reserve(kind: string, names: readonly string[]): void {
    for (const name of names) this.#owners.set(`${kind} ${name}`, "the service");
  }

  /** Reserves a name of a kind for an extension. @throws Error if it is malformed or already used */
  claim(extension: string, kind: string, name: string, expected?: RegExp, key = name): void {
    if (expected && !expected.test(name)) {
      throw new Error(`extension ${extension}: ${kind}: "${name}" does not match ${expected.source}`);
    }
    this.#take(extension, kind, name, `extension ${extension}`, key);
  }

  /**
   * Reserves a method and a path for an extension. Its own routes may overlap: then the first one answers.
   * @throws Error if the path is malformed, or a route of another owner answers some of the same requests
   */
  claimRoute(extension: string, route: Route): void {
    const owner = `extension ${extension}`;
    const named = `${owner}: routes: ${route.method} ${route.path}`;
    if (!ROUTE_PATH.test(route.path)) throw new Error(`${named} does not match ${ROUTE_PATH.source}`);
    const other = this.#routes.find((each) =>
      each.owner === owner ? keyOf(each) === keyOf(route) : overlap(each, route)
    );
    if (other) {
      throw new Error(
        `${named} answers the same requests as ${other.method} ${other.path} of ${other.owner}`,
      );
    }
    this.#routes.push({ ...route, owner });
  }

  /** True if an extension has claimed the name, or if it is one of the service. */
  has(kind: string, name: string): boolean {
    return this.#owners.has(`${kind} ${name}`);
  }

  #take(extension: string, kind: string, name: string, owner: string, key = name): void {
    const other = this.#owners.get(`${kind} ${key}`);
    if (other !== undefined) {
      throw new Error(`extension ${extension}: ${kind}: "${name}" is already used by ${other}`);
    }
    this.#owners.set(`${kind} ${key}`, owner);
  }
}

/** Method and path of an endpoint. */
export interface Route {
  method: string;
  /** Parameters are in braces. */
  path: string;
}

const ROUTE_PATH = /^\/api\/v1(\/([a-z0-9._~-]+|\{\w+\}))+$/;
const PARAMETER = /\{\w+\}/g;

/** The method of an endpoint with each of its paths. */
export const routesOf = (
  { method, path, alsoAt = [] }: Pick<Endpoint, "method" | "path" | "alsoAt">,
): Route[] => [path, ...alsoAt].map((each) => ({ method: method.toUpperCase(), path: each }));

/** Two routes with the same key answer exactly the same requests. */
const keyOf = ({ method, path }: Route): string => `${method} ${path.replaceAll(PARAMETER, "{}")}`;

/** True if there is a request that both routes would answer. */
function overlap(a: Route, b: Route): boolean {
  const [first, second] = [a.path.split("/"), b.path.split("/")];
  const fits = (segment: string, i: number) =>
    segment === second[i] || segment.startsWith("{") || second[i]?.startsWith("{");
  return a.method === b.method && first.length === second.length && first.every(fits);
}
