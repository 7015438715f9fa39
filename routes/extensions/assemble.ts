import { loadLater } from "../../infra/load_later.ts";
import type { CatalogAdditions } from "../../domain/access/tenants/bootstrap.ts";
import { permissionCode } from "../../domain/access/permissions/permissions.ts";
import {
  EVENT_TYPE,
  EVENT_TYPES,
  type EventDeclaration,
  type EventTypes,
} from "../../domain/events/event_types.ts";
import type { AnyJobType, JobContext } from "../../domain/jobs/job_type.ts";
import { type ChannelProvider, declareChannels, isBuiltIn } from "../../domain/notifications/channels.ts";
import { isProblemCode } from "../../domain/problems/problem.ts";
import type { ReportExtensions } from "../../domain/reports/threads/reports.ts";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import { pathOfRecord, type RecordAction } from "../../domain/records/record_type.ts";
import type { PersonalData } from "../../domain/shared/personal_data.ts";
import type { ExtensionMigrations } from "../../infra/postgres/migrate.ts";
import type { ConsoleSection } from "../console/shared/page.ts";
import { recordRoutes } from "../records/record_routes.ts";
import type { Endpoint, EndpointInput } from "../shared/endpoint.ts";
import { checkDeclarations, Names, routesOf } from "./declarations.ts";
import type { ExtensionJob, ExtensionRoute } from "./extension.ts";
import { type LoadedExtension, migrationsOf } from "./load_extensions.ts";
import type { Services } from "./services.ts";
import { z } from "zod";

/** The declarations of all extensions, checked against each other and against those of the service. */
export interface Assembly {
  catalog: CatalogAdditions;
  eventTypes: EventTypes;
  jobTypes: AnyJobType[];
  endpoints: Endpoint[];
  /** The console sections of the extensions that have records, cards or pages. The console is loaded only if there are any. */
  loadSections(): Promise<ConsoleSection[]>;
  reports: ReportExtensions;
  channelProviders: ChannelProvider[];
  /** In exports, the folder of an extension is `extensions/NAME`. */
  personalData: PersonalData[];
  migrations: ExtensionMigrations[];
}

/**
 * Merges the declarations of extensions.
 * @param services the functions that handlers get; called when a handler runs
 * @throws Error that names extension, member and reason, if a name is malformed, reserved or already used
 */
export function assemble(extensions: readonly LoadedExtension[], services: () => Services): Assembly {
  for (const extension of extensions) checkDeclarations(extension);
  const names = new Names(extensions);
  const permissions = extensions.flatMap(({ name, permissions = [] }) =>
    permissions.map((permission) => {
      const { error } = permissionCode.safeParse(permission.code);
      if (error) {
        throw new Error(`extension ${name}: permissions: "${permission.code}": ${error.issues[0]?.message}`);
      }
      names.claim(name, "permissions", permission.code);
      return { ...permission, reach: "Tenant" as const };
    })
  );
  const eventTypes = new Map<string, EventDeclaration>(Object.entries(EVENT_TYPES));
  for (const { name, events = {} } of extensions) {
    for (const [type, declaration] of Object.entries(events)) {
      names.claim(name, "events", type, EVENT_TYPE);
      eventTypes.set(type, declaration);
    }
  }
  const endpoints = extensions.flatMap((extension) => endpointsOf(names, extension, services));
  for (const extension of extensions) checkConsoleParts(names, extension);
  const providers = providersOf(names, extensions);
  declareChannels(extensions.flatMap(({ channels = [] }) => channels));
  return {
    catalog: { permissions, roleGrants: extensions.flatMap((extension) => roleGrants(names, extension)) },
    eventTypes,
    jobTypes: extensions.flatMap(({ name, jobs = [] }) =>
      jobs.map((job) => jobType(names, name, job, services))
    ),
    endpoints,
    loadSections: () => consoleSections(names, extensions),
    reports: reportsOf(names, extensions),
    channelProviders: providers.map((provider) => ({
      ...provider,
      send: (message, context) => provider.send(message, { ...context, steward: services() }),
    })),
    personalData: extensions.flatMap(personalDataOf),
    migrations: migrationsOf(extensions),
  };
}

function personalDataOf({ name, personalData }: LoadedExtension): PersonalData[] {
  if (!personalData) return [];
  const { user, tenant, eraseUsers, eraseTenant } = personalData;
  return [{
    area: `extensions/${name}`,
    ...user ? { user } : {},
    ...tenant ? { tenant } : {},
    ...eraseUsers ? { eraseUsers: ({ sql }, persons) => eraseUsers(sql, persons) } : {},
    ...eraseTenant ? { eraseTenant: ({ sql }, tenantId) => eraseTenant(sql, tenantId) } : {},
  }];
}

function roleGrants(names: Names, { name, tenantRoles = {} }: LoadedExtension) {
  const known = new Set(["Admin", "Visitor", "GroupAdmin"]);
  return Object.entries(tenantRoles).flatMap(([roleName, codes]) => {
    if (!known.has(roleName)) {
      throw new Error(`extension ${name}: tenantRoles: "${roleName}" is not one of ${[...known].join(", ")}`);
    }
    return codes.map((code) => {
      if (!names.has("permissions", code)) {
        throw new Error(`extension ${name}: tenantRoles: the permission "${code}" is not declared`);
      }
      if (
        CATALOG_PERMISSIONS.some((permission) => permission.code === code && permission.reach === "Platform")
      ) {
        throw new Error(
          `extension ${name}: tenantRoles: the permission "${code}" acts in all tenants; expected one that acts within a tenant`,
        );
      }
      return { roleName, code };
    });
  });
}

/** The job type as the engine runs it: its handler gets the service's functions instead of the platform. */
function jobType(
  names: Names,
  extension: string,
  job: ExtensionJob,
  services: () => Services,
): AnyJobType {
  names.claim(extension, "jobs", job.name, /^(?!steward\.)[a-z0-9][a-z0-9.-]{0,99}$/);
  if (job.permission !== undefined && !names.has("permissions", job.permission)) {
    throw new Error(
      `extension ${extension}: jobs: ${job.name} needs the undeclared permission ${job.permission}`,
    );
  }
  const run = (args: unknown, { platform: _, takeWorker: _take, ...context }: JobContext) =>
    job.run(args, { ...context, steward: services() });
  return { ...job, run };
}

function endpointsOf(
  names: Names,
  { name, routes = [], resources = [] }: LoadedExtension,
  services: () => Services,
): Endpoint[] {
  const own = routes.map((route) => endpointOf(route, services));
  const endpoints = [...own, ...resources.flatMap((record) => recordRoutes(record))];
  for (const endpoint of endpoints) {
    names.claim(name, "operations", endpoint.id, /^[a-z][A-Za-z0-9]*$/);
    for (const route of routesOf(endpoint)) names.claimRoute(name, route);
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

async function consoleSections(
  names: Names,
  extensions: readonly LoadedExtension[],
): Promise<ConsoleSection[]> {
  const shown = extensions.map(({ name, resources = [], overview = [], pages = [], routes = [] }) => {
    const endpoints = [...routes, ...resources.flatMap((record) => recordRoutes(record))];
    const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    return { name, resources, overview, pages, endpoints: byId };
  }).filter(({ resources, overview, pages }) => [resources, overview, pages].flat().length > 0);
  if (shown.length === 0) return [];
  const { extensionSection, takenPaths } = await loadLater<typeof import("../console/sections.ts")>(
    import.meta,
    "../console/sections.ts",
  );
  names.reserve("console pages", takenPaths());
  for (const { name, resources } of shown) {
    for (const record of resources) names.claim(name, "console pages", pathOfRecord(record));
  }
  return await Promise.all(shown.map(extensionSection));
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
    for (const { id, permissions, database } of reports) {
      names.claim(name, "reports", id);
      if (database !== undefined && !names.has("databases", database)) {
        throw new Error(`extension ${name}: reports: "${id}" reads the undeclared database "${database}"`);
      }
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
const endpointOf = (route: ExtensionRoute, services: () => Services): Endpoint => ({
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
      steward: services(),
    }),
});

const PAGE_PATH = /^([a-z0-9-]+|\{\w+\})(\/([a-z0-9-]+|\{\w+\}))*$/;
const PARAMETER = /\{(\w+)\}/g;

/** Checks the actions of records, the cards and the pages of an extension. @throws Error that names the mistake */
function checkConsoleParts(
  names: Names,
  { name, routes = [], resources = [], overview = [], pages = [] }: LoadedExtension,
): void {
  for (const { one, actions } of resources) {
    for (const [key, action] of Object.entries<RecordAction>(actions)) {
      const mistake = routeMistake(routes.find(({ id }) => id === action.route));
      if (!mistake) continue;
      throw new Error(
        `extension ${name}: the action ${key} of the record ${one}: "${action.route}" ${mistake}`,
      );
    }
  }
  const parts = [
    ...overview.map(({ title, permission }) => ({ at: `overview: "${title.en}"`, permission })),
    ...pages.map(({ path, permission }) => ({ at: `pages: "${path}"`, permission })),
  ];
  for (const { at, permission } of parts) {
    if (names.has("permissions", permission)) continue;
    throw new Error(`extension ${name}: ${at} needs the undeclared permission ${permission}`);
  }
  for (const { path, isInNavigation } of pages) {
    names.claim(name, "pages", path, PAGE_PATH, `${name} ${path.replaceAll(PARAMETER, "{}")}`);
    if (!isInNavigation || !path.includes("{")) continue;
    throw new Error(`extension ${name}: pages: "${path}" has a parameter, so the navigation cannot list it`);
  }
}

/** The reason why an action cannot call a route; null if it can. */
function routeMistake(route: ExtensionRoute | undefined): string | null {
  if (!route) return "is not the operation id of a route of the extension";
  const parameters = [...route.path.matchAll(PARAMETER)].map(([, parameter]) => parameter);
  if (parameters.join() !== "id") return `has the path ${route.path}; expected the parameter {id} alone`;
  if (route.body || route.content) return "needs a body, which a button does not send";
  if (route.method !== "get") return null;
  const { schema } = route.answers[200] ?? {};
  return schema instanceof z.ZodObject && "url" in schema.shape
    ? null
    : "is a GET route that answers no url for the button to open";
}
