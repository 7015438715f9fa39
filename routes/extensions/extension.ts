import type { z } from "zod";
import type { EventDeclaration } from "../../domain/events/event_types.ts";
import {
  type Attempt,
  defineJob as declareJob,
  type JobSpec,
  type JobType,
} from "../../domain/jobs/job_type.ts";
import type {
  ChannelDeclaration,
  ChannelMessage,
  SendAnswer,
  SendContext,
} from "../../domain/notifications/channels.ts";
import type { DefinedRecord } from "../../domain/records/record_type.ts";
import type { ReportTemplate } from "../../domain/reports/definition/report_template.ts";
import type { DataSubject, ErasedPersons, Exports } from "../../domain/shared/personal_data.ts";
import type { Log } from "../../infra/log.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { EndpointSpec, OwnContent } from "../shared/endpoint.ts";
import type { ExtensionCard, ExtensionPage } from "./console_parts.ts";
import type { Services } from "./services.ts";

/** The input of an extension's job handler besides the job's arguments. */
export interface JobInput extends Attempt {
  steward: Services;
}

/** A job type of an extension. */
export type ExtensionJob<A = unknown> = JobType<A, JobInput>;

/** Declares a job type. Defaults: callers cannot enqueue it, five minutes per attempt, three retries. */
export const defineJob = <A>(spec: JobSpec<A, JobInput>): ExtensionJob<A> => declareJob<A, JobInput>(spec);

/** The value that a shape parses to. */
export type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The input of the handler of an extension's route. */
export interface RouteInput<C, P, Q, B> {
  /** The pool; with an Idempotency-Key on a route that `creates` atomically, the transaction of the request. */
  db: Sql;
  caller: C;
  params: Parsed<P>;
  query: Parsed<Q>;
  body: Parsed<B>;
  headers: Headers;
  /** The expected version of `If-Match`; null without that header. */
  ifMatch: string | null;
  log: Log;
  /** Aborted when the request times out. */
  signal: AbortSignal;
  steward: Services;
}

/** The declaration of a route. `C` is the caller; `P`, `Q` and `B` are the shapes of parameters, query and body. */
export type RouteSpec<C, P, Q, B> =
  & Omit<
    EndpointSpec<C, P, Q, B, RouteInput<C, P, Q, B>>,
    | "find"
    | "content"
    | "creates"
    | "problems"
    | "quota"
    | "service"
  >
  & {
    /** Accepts the Idempotency-Key header; the answer and the change commit together. For routes that create something. */
    creates?: "atomically";
    /** How `run` reads a raw body or a form. */
    content?: Pick<OwnContent, "raw" | "form">;
    /** `waits for others`: for a password hash or another server, so it starts at once and keeps no other request waiting. */
    service?: "point read" | "waits for others";
    /** Codes of the refusals, of the service or from `defineProblems`. */
    problems: string[];
  };

/** A route of an extension, without its generic types; `defineRoute` has checked them. */
export type ExtensionRoute = RouteSpec<
  unknown,
  z.ZodType | undefined,
  z.ZodType | undefined,
  z.ZodType | undefined
>;

/** Declares a route. The types of `run`'s input are derived from the shapes. */
export function defineRoute<
  C,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(spec: RouteSpec<C, P, Q, B>): ExtensionRoute {
  return spec as unknown as ExtensionRoute;
}

/** A provider of an extension. It sends to one recipient per call. */
export interface ExtensionProvider {
  /** Lower-case letters, digits and hyphens. Delivery attempts show it, so it names no host. */
  name: string;
  /** Sends a message. A thrown error counts as a temporary failure, OutboundRefused as a permanent one. */
  send(
    message: ChannelMessage,
    context: SendContext & { steward: Services },
  ): Promise<SendAnswer>;
}

/** A channel of an extension, with its providers in failover order. */
export interface ExtensionChannel extends ChannelDeclaration {
  providers: ExtensionProvider[];
}

/** Declares a channel. */
export const defineChannel = (channel: ExtensionChannel): ExtensionChannel => channel;

/** A permission with tenant reach that an extension adds to the catalog. */
export interface ExtensionPermission {
  /** `action:resource`, such as `read:invoices`. */
  code: string;
  category: string;
  description: string;
}

/**
 * The exports and erasures of personal data in the tables of an extension. Exported rows must contain no secret. An erasure
 * must use bounded statements and leave no address, name or telephone number of the persons. It may run again after a crash.
 */
export interface ExtensionPersonalData {
  /** The rows about a person, by the name of the file. */
  user?: Exports<DataSubject>;
  /** All rows of a tenant. */
  tenant?: Exports<string>;
  eraseUsers?(db: Sql, persons: ErasedPersons): Promise<void>;
  eraseTenant?(db: Sql, tenantId: string): Promise<void>;
}

/** The declarations of a product that extends the service. Every member except the name is optional. */
export interface Extension {
  /** Lower-case letters, digits and underscores. Also the name of the database schema of its migrations. */
  name: string;
  permissions?: ExtensionPermission[];
  /** Permissions for the catalog roles of every tenant, present and future, by role name. */
  tenantRoles?: Partial<Record<"Admin" | "Visitor" | "GroupAdmin", string[]>>;
  // deno-lint-ignore no-explicit-any -- one list holds job types with different arguments
  jobs?: ExtensionJob<any>[];
  reports?: ReportTemplate[];
  // deno-lint-ignore no-explicit-any -- one list holds records with different shapes
  resources?: DefinedRecord<any, any, any>[];
  routes?: ExtensionRoute[];
  /** Cards on the overview of the console. */
  overview?: ExtensionCard[];
  /** Pages of the console. */
  pages?: ExtensionPage[];
  /** Event types that webhook endpoints can subscribe to, by name, such as `invoice.paid`. */
  events?: Record<string, EventDeclaration>;
  channels?: ExtensionChannel[];
  /** Providers for other channels, built-in or of another extension. They are tried after the configured ones. */
  providers?: (ExtensionProvider & { channel: string })[];
  /** URLs of further Postgres databases by name. Reports read from them (`database: "billing"`). */
  databases?: Record<string, string | undefined>;
  /** Exports and erasures of its tables. It is needed if they have data about persons or tenants. */
  personalData?: ExtensionPersonalData;
  /** Folder of its migrations: `new URL("./migrations/", import.meta.url)`. */
  migrations?: URL;
}

const MEMBERS: ReadonlySet<string> = new Set<keyof Extension>([
  "name",
  "permissions",
  "tenantRoles",
  "jobs",
  "reports",
  "resources",
  "routes",
  "overview",
  "pages",
  "events",
  "channels",
  "providers",
  "databases",
  "personalData",
  "migrations",
]);

/**
 * Declares an extension; the default export of its module.
 * @throws Error for an unknown member or a malformed name
 */
export function defineExtension(extension: Extension): Extension {
  const { name } = extension;
  if (!/^[a-z][a-z0-9_]{1,30}$/.test(name) || RESERVED_NAMES.test(name)) {
    throw new Error(
      `extension "${name}": expected a name of 2 to 31 lower-case letters, digits and underscores that is not reserved`,
    );
  }
  for (const member of Object.keys(extension)) {
    if (MEMBERS.has(member)) continue;
    throw new Error(
      `extension ${name}: unknown member ${member}; expected one of ${[...MEMBERS].join(", ")}`,
    );
  }
  return extension;
}

/** Names of schemas that Postgres or the service uses. */
const RESERVED_NAMES = /^(pg_.*|public|information_schema|steward)$/;
