import type { CatalogAdditions } from "../../domain/access/bootstrap.ts";
import { permissionCode } from "../../domain/access/permissions/permission_fields.ts";
import { EVENT_TYPES, type EventDeclaration, type EventTypes } from "../../domain/events/event_types.ts";
import type { AnyJobType, JobContext } from "../../domain/jobs/job_type.ts";
import { allJobTypes } from "../../domain/job_types.ts";
import { declareChannels, isBuiltIn } from "../../domain/notifications/channels/catalogue.ts";
import type { ChannelProvider } from "../../domain/notifications/channels/channel_provider.ts";
import { CHANNELS } from "../../domain/notifications/status.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { isProblemCode } from "../../domain/problems/catalogue.ts";
import type { ReportExtensions } from "../../domain/reports/reports.ts";
import { BUILT_IN_REPORTS } from "../../domain/reports/templates/mod.ts";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import type { ExtensionMigrations } from "../../infra/postgres/migrate.ts";
import { extensionSection } from "../console/resources/extension_pages.tsx";
import { sections } from "../console/sections.ts";
import type { ConsoleSection } from "../console/shared/page.ts";
import type { Resource } from "../../domain/resources/resource.ts";
import { ENDPOINTS } from "../endpoints.ts";
import { resourceRoutes } from "../resources/resource_routes.ts";
import type { Endpoint, EndpointInput } from "../shared/endpoint.ts";
import type { ExtensionJob, ExtensionRoute } from "./extension.ts";
import { type LoadedExtension, migrationsOf } from "./load_extensions.ts";
import { type Services, servicesOf } from "./services.ts";

/** The declarations of all extensions, checked against each other and against those of the service. */
export interface Assembly {
  catalog: CatalogAdditions;
  eventTypes: EventTypes;
  jobTypes: AnyJobType[];
  endpoints: Endpoint[];
  /** Console sections of the extensions that have resources. */
  sections: ConsoleSection[];
  reports: ReportExtensions;
  /** @param services the functions of the service that sends */
  channelProviders(services: () => Services): ChannelProvider[];
  migrations: ExtensionMigrations[];
}

/**
 * Merges the declarations of extensions.
 * @throws Error that names extension, member and reason, if a name is malformed, reserved or already used
 */
export function assemble(extensions: readonly LoadedExtension[]): Assembly {
  const names = new Names(extensions);
  const permissions = extensions.flatMap(({ name, permissions = [] }) =>
    permissions.map((permission) => {
      names.claim(name, "permissions", permission.code, /^[a-z][a-z-]*:[a-z][a-z-]*$/);
      const { error } = permissionCode.safeParse(permission.code);
      if (error) {
        throw new Error(`extension ${name}: permissions: "${permission.code}": ${error.issues[0]?.message}`);
      }
      return { ...permission, reach: "Tenant" as const };
    })
  );
  const eventTypes = new Map<string, EventDeclaration>(Object.entries(EVENT_TYPES));
  for (const { name, events = {} } of extensions) {
    for (const [type, declaration] of Object.entries(events)) {
      names.claim(name, "events", type, /^[a-z0-9]+(\.[a-z0-9-]+)+$/);
      eventTypes.set(type, declaration);
    }
  }
  const providers = providersOf(names, extensions);
  declareChannels(extensions.flatMap(({ channels = [] }) => channels));
  return {
    catalog: { permissions, roleGrants: extensions.flatMap((extension) => roleGrants(names, extension)) },
    eventTypes,
    jobTypes: extensions.flatMap(({ name, jobs = [] }) => jobs.map((job) => jobType(names, name, job))),
    endpoints: extensions.flatMap((extension) => endpointsOf(names, extension)),
    sections: extensions.flatMap(({ name, resources = [] }) =>
      resources.length > 0 ? [consoleSection(names, name, resources)] : []
    ),
    reports: reportsOf(names, extensions),
    channelProviders: (services) =>
      providers.map((provider) => ({
        ...provider,
        send: (message, context) => provider.send(message, { ...context, steward: services() }),
      })),
    migrations: migrationsOf(extensions),
  };
}

/** The names that are in use, each with its owner: the service or an extension. */
class Names {
  #owners = new Map<string, string>();

  constructor(extensions: readonly LoadedExtension[]) {
    for (const { code } of CATALOG_PERMISSIONS) this.#owners.set(`permissions ${code}`, "the service");
    for (const type of Object.keys(EVENT_TYPES)) this.#owners.set(`events ${type}`, "the service");
    for (const { name } of allJobTypes) this.#owners.set(`jobs ${name}`, "the service");
    for (const { path } of sections.flatMap(({ pages }) => pages)) {
      this.#owners.set(`console pages ${path.split("/")[0]}`, "the service");
    }
    for (const { id } of BUILT_IN_REPORTS) this.#owners.set(`reports ${id}`, "the service");
    for (const channel of CHANNELS) this.#owners.set(`channels ${channel.toLowerCase()}`, "the service");
    for (const endpoint of ENDPOINTS) {
      this.#owners.set(`operations ${endpoint.id}`, "the service");
      for (const key of routeKeys(endpoint)) this.#owners.set(`routes ${key}`, "the service");
    }
    for (const { name, module } of extensions) this.#take(name, "name", name, `the extension in ${module}`);
  }

  /** Reserves a name of a kind for an extension. @throws Error if it is malformed or already used */
  claim(extension: string, kind: string, name: string, expected?: RegExp, key = name): void {
    if (expected && !expected.test(name)) {
      throw new Error(`extension ${extension}: ${kind}: "${name}" does not match ${expected.source}`);
    }
    this.#take(extension, kind, name, `extension ${extension}`, key);
  }

  /** Was the name claimed by an extension, or is it one of the service? */
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

function roleGrants(names: Names, { name, tenantRoles = {} }: LoadedExtension) {
  const known = new Set(["Admin", "Visitor", "GroupAdmin"]);
  return Object.entries(tenantRoles).flatMap(([roleName, codes]) => {
    if (!known.has(roleName)) {
      throw new Error(`extension ${name}: tenantRoles: "${roleName}" is not one of ${[...known].join(", ")}`);
    }
    return codes.map((code) => {
      if (names.has("permissions", code)) return { roleName, code };
      throw new Error(`extension ${name}: tenantRoles: the permission "${code}" is not declared`);
    });
  });
}

/** The job type as the engine runs it: its handler gets the service's functions instead of the platform. */
function jobType(names: Names, extension: string, job: ExtensionJob): AnyJobType {
  names.claim(extension, "jobs", job.name, /^(?!steward\.)[a-z0-9][a-z0-9.-]{0,99}$/);
  if (job.permission !== undefined && !names.has("permissions", job.permission)) {
    throw new Error(
      `extension ${extension}: jobs: ${job.name} needs the undeclared permission ${job.permission}`,
    );
  }
  const run = (args: unknown, { platform, ...context }: JobContext<ServicePlatform>) =>
    job.run(args, { ...context, steward: servicesOf(platform) });
  return { ...job, run };
}

function endpointsOf(names: Names, { name, routes = [], resources = [] }: LoadedExtension): Endpoint[] {
  const endpoints = [...routes.map(endpointOf), ...resources.flatMap((resource) => resourceRoutes(resource))];
  for (const endpoint of endpoints) {
    names.claim(name, "operations", endpoint.id, /^[a-z][A-Za-z0-9]*$/);
    for (const key of routeKeys(endpoint)) names.claim(name, "routes", key, /^[A-Z]+ \/api\/v1\/[^\s]+$/);
    for (const permission of endpoint.access.permissions) {
      if (names.has("permissions", permission)) continue;
      throw new Error(`extension ${name}: ${endpoint.id} needs the undeclared permission ${permission}`);
    }
    for (const code of endpoint.problems) {
      if (isProblemCode(code)) continue;
      throw new Error(
        `extension ${name}: ${endpoint.id} names the unknown problem ${code}; use defineProblems`,
      );
    }
  }
  return endpoints;
}

function consoleSection(names: Names, extension: string, resources: Resource[]): ConsoleSection {
  const section = extensionSection(extension, resources);
  for (const { path } of section.nav) names.claim(extension, "console pages", path);
  return section;
}

function reportsOf(names: Names, extensions: readonly LoadedExtension[]): ReportExtensions {
  const databases: Record<string, string> = {};
  for (const { name, databases: declared = {} } of extensions) {
    for (const [database, url] of Object.entries(declared)) {
      names.claim(name, "databases", database, /^[a-z][a-z0-9_-]{0,62}$/);
      if (!url || !/^postgres(ql)?:\/\//.test(url)) {
        throw new Error(
          `extension ${name}: databases: "${database}" has no URL that starts with postgres://`,
        );
      }
      databases[database] = url;
    }
  }
  for (const { name, reports = [] } of extensions) {
    for (const { id, permissions } of reports) {
      names.claim(name, "reports", id);
      const unknown = permissions.find((permission) => !names.has("permissions", permission));
      if (unknown === undefined) continue;
      throw new Error(`extension ${name}: reports: "${id}" needs the undeclared permission ${unknown}`);
    }
  }
  const modules = extensions.filter(({ reports = [] }) => reports.length > 0).map(({ module }) => module);
  return { modules, databases };
}

/** A provider name that no provider of the service has. */
const PROVIDER_NAME = /^(?!(smtp|sms)(-\d+)?$|(fcm|outbox|database|unknown)$)[a-z][a-z0-9-]{0,39}$/;

/** The providers of all channels: those of a channel's own extension first. */
function providersOf(names: Names, extensions: readonly LoadedExtension[]) {
  const channels = extensions.flatMap((extension) =>
    (extension.channels ?? []).map((channel) => {
      names.claim(
        extension.name,
        "channels",
        channel.name,
        /^[A-Z][A-Za-z0-9]{1,39}$/,
        channel.name.toLowerCase(),
      );
      return { extension, channel };
    })
  );
  const own = channels.flatMap(({ extension, channel }) =>
    channel.providers.map((provider) => ({ ...provider, extension: extension.name, channel: channel.name }))
  );
  const others = extensions.flatMap(({ name, providers = [] }) =>
    providers.map((provider) => ({ ...provider, extension: name }))
  );
  for (const { name, channel, extension } of [...own, ...others]) {
    names.claim(extension, "providers", name, PROVIDER_NAME);
    if (isBuiltIn(channel) || channels.some((each) => each.channel.name === channel)) continue;
    throw new Error(`extension ${extension}: providers: "${name}" names the unknown channel ${channel}`);
  }
  return [...own, ...others];
}

/** The route as the application serves it: its handler gets the service's functions instead of the platform. */
const endpointOf = (route: ExtensionRoute): Endpoint => ({
  ...route,
  problems: route.problems as Endpoint["problems"],
  run: ({ platform, call, db, caller, params, query, body }: EndpointInput<unknown, never, never, never>) =>
    route.run({
      db,
      caller,
      params,
      query,
      body,
      headers: call.request.headers,
      ifMatch: call.ifMatch,
      log: platform.log,
      signal: call.signal,
      steward: servicesOf(platform),
    }),
});

/** Method and path of a route, with parameters by position: two routes with the same key would shadow each other. */
const routeKeys = ({ method, path, alsoAt = [] }: Pick<Endpoint, "method" | "path" | "alsoAt">): string[] =>
  [path, ...alsoAt].map((each) => `${method.toUpperCase()} ${each.replaceAll(/\{\w+\}/g, "{}")}`);
