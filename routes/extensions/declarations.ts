import { z } from "zod";
import { EVENT_TYPES } from "../../domain/events/event_types.ts";
import { jobTypesOf } from "../../domain/job_types.ts";
import { scheduleMistakes } from "../../domain/jobs/cron.ts";
import { CHANNELS } from "../../domain/notifications/status.ts";
import { BUILT_IN_REPORTS } from "../../domain/reports/templates/mod.ts";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import { AREA_NAMES } from "../../infra/areas.ts";
import { ENDPOINTS } from "../endpoints.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import type { Extension } from "./extension.ts";
import type { LoadedExtension } from "./load_extensions.ts";

const text = z.string({ error: "expected a text" }).min(1, "expected a text");
const work = z.custom((value) => typeof value === "function", "expected a function");
const shape = z.custom(
  (value) => value instanceof z.ZodType,
  "expected a schema made with z of @steward/steward",
);
const count = z.int("expected a whole number");
const cron = z.string().check((context) => {
  const [mistake] = Object.values(scheduleMistakes(context.value, "UTC")).flat();
  if (mistake) context.issues.push({ code: "custom", input: context.value, message: mistake });
});

const permission = z.object({ code: text, category: text, description: text });
const job = z.object({
  name: text,
  args: shape,
  run: work,
  timeoutMs: count.min(1, "expected at least 1"),
  maxRetries: count.min(0, "expected 0 to 25").max(25, "expected 0 to 25"),
  concurrency: count.min(1, "expected at least 1").optional(),
  share: z.number().gt(0).max(1).optional(),
  places: z.number().gt(0).max(1).refine((places) => Number.isInteger(Math.log2(places)), {
    error: "expected a power of two, such as 0.25",
  }).optional(),
  cron: cron.optional(),
});
const route = z.object({
  method: z.enum(["get", "post", "put", "delete"]),
  path: text,
  alsoAt: z.array(text).optional(),
  area: text,
  id: text,
  summary: text,
  access: z.object({ permissions: z.array(text), admit: work }, "expected an access such as inTenant(…)"),
  params: shape.optional(),
  query: shape.optional(),
  body: shape.optional(),
  answers: z.record(z.string(), z.object({ description: text, schema: shape.optional() })),
  problems: z.array(text),
  run: work,
});
const label = z.union([text, z.record(z.string(), text)], "expected a text, or one for each language");
const action = z.object({
  label,
  route: text,
  when: work.optional(),
  confirm: label.optional(),
  done: label.optional(),
  tone: z.enum(["primary", "danger"]).optional(),
});
const resource = z.object({
  one: text,
  many: text,
  members: z.array(z.looseObject({})),
  actions: z.record(
    z.string().regex(/^[a-z][a-z0-9-]*$/, "expected a name of lower-case letters and dashes"),
    action,
  ),
}, "expected a result of defineRecord");
const report = z.object({
  id: text,
  permissions: z.array(text),
  parts: z.array(z.object({ kind: z.enum(["table", "chart"]) })).min(1),
}, "expected a result of defineReport");
const title = z.object({ en: text, pt: text }, "expected a text in both languages: { en, pt }");
const file = z.instanceof(URL, { error: "expected a URL, such as new URL('./page.js', import.meta.url)" });
const card = z.object({ title, permission: text, read: work });
const page = z.object({
  path: text,
  title,
  permission: text,
  isInNavigation: z.boolean().optional(),
  render: work,
  submit: work.optional(),
  script: file.optional(),
  style: file.optional(),
});
const provider = z.object({ name: text, send: work });
const channel = z.object({
  name: text,
  displayName: text,
  address: z.object({ expected: text, fits: work, ofUsers: work.optional() }),
  providers: z.array(provider),
});

/** Queries of an export, by the name of the file. */
const exported = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected a name of lower-case letters, digits and hyphens"),
  work,
);
const personalData = z.strictObject({
  user: exported.optional(),
  tenant: exported.optional(),
  eraseUsers: work.optional(),
  eraseTenant: work.optional(),
});

/** The types that `assemble` relies on. They are checked at the start, because an extension is not always type-checked. */
const EXTENSION = z.object({
  permissions: z.array(permission),
  tenantRoles: z.record(z.string(), z.array(text)),
  jobs: z.array(job),
  reports: z.array(report),
  resources: z.array(resource),
  routes: z.array(route),
  overview: z.array(card),
  pages: z.array(page),
  events: z.record(z.string(), z.object({ description: text, example: z.unknown() })),
  channels: z.array(channel),
  providers: z.array(provider.extend({ channel: text })),
  personalData,
  migrations: z.instanceof(URL, {
    error: "expected a URL, such as new URL('./migrations/', import.meta.url)",
  }),
}).partial();

/** @throws Error that names the extension, the member and what was expected, if a declaration is malformed */
export function checkDeclarations(extension: Extension): void {
  const [issue] = EXTENSION.safeParse(extension).error?.issues ?? [];
  if (!issue) return;
  const member = issue.path.map((part) => typeof part === "number" ? `[${part}]` : `.${String(part)}`).join(
    "",
  );
  throw new Error(`extension ${extension.name}: ${member.slice(1)}: ${issue.message}`);
}

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
interface Route {
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
