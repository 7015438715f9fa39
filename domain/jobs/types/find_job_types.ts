// Looking up declared job types. Instances cache them.
import { z } from "zod";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { isTransaction, type Sql, type Tx } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import { anyObject, time } from "../../shared/shapes.ts";
import { requireShallow } from "../../shared/storable.ts";
import { cacheOfDatabase, TtlCache } from "../../shared/ttl_cache.ts";
import type { AnyJobType } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import { MARK, markedPaths, MAX_SEARCHABLE } from "../searchable_args.ts";
import { memberPath } from "./secret_args.ts";

/** The rate limit of a job type in answers; with `key`, for each value at this path of the arguments. */
export const ShownRateLimit = z.object({ count: z.int(), perSeconds: z.int(), key: z.string().nullable() });

/** Description of the JSON Schema of a type's arguments. */
export const ARGS_SCHEMA = {
  type: ["object", "null"],
  description: "JSON Schema (2020-12) of the arguments; `format` is not checked",
  example: { type: "object" },
} as const;

/** A declared job type, as callers see it. */
export const DeclaredJobType = z.object({
  name: z.string(),
  tenantId: z.guid().nullable().describe("Null: declared for all tenants"),
  description: z.string().nullable(),
  argsSchema: anyObject.nullable().meta({ ...ARGS_SCHEMA }),
  timeoutSeconds: z.int(),
  maxRetries: z.int(),
  concurrency: z.int().nullable(),
  rateLimit: ShownRateLimit.nullable(),
  secretArgs: z.array(z.string()),
  push: z.object({ url: z.string() }).nullable(),
  createdBy: z.guid().nullable(),
  createdAt: time,
  updatedAt: time,
});
export type DeclaredJobType = z.output<typeof DeclaredJobType>;

/** A row of `job_types` without its signing secret. */
export interface JobTypeRow extends Omit<DeclaredJobType, "argsSchema" | "rateLimit" | "push"> {
  id: string;
  argsSchema: string | null;
  rateCount: number | null;
  ratePerSeconds: number | null;
  rateKey: string | null;
  maskedArgs: string[];
  searchableArgs: string[];
  pushUrl: string | null;
  version: number;
  deletedAt: Date | null;
}

export const JOB_TYPE_COLUMNS =
  `id, name, tenant_id, description, args_schema, timeout_seconds, max_retries, concurrency, rate_count,
  rate_per_seconds, rate_key, secret_args, masked_args, searchable_args, push_url, version, created_by, created_at, updated_at, deleted_at`;

export function declaredJobType(row: JobTypeRow): DeclaredJobType {
  const { name, tenantId, description, timeoutSeconds, maxRetries, concurrency, secretArgs } = row;
  const { createdBy, createdAt, updatedAt } = row;
  return {
    name,
    tenantId,
    description,
    argsSchema: row.argsSchema === null ? null : JSON.parse(row.argsSchema),
    timeoutSeconds,
    maxRetries,
    concurrency,
    rateLimit: rateLimitOf(row),
    secretArgs,
    push: row.pushUrl === null ? null : { url: row.pushUrl },
    createdBy,
    createdAt,
    updatedAt,
  };
}

const rateLimitOf = ({ rateCount: count, ratePerSeconds: perSeconds, rateKey: key }: NamedRow | JobTypeRow) =>
  count === null || perSeconds === null ? null : { count, perSeconds, key };

/** Bounds how long the change of another instance is missed if its announcement is lost. */
const TTL_MS = 10_000;
const MAX_NAMES = 1_000;
const MAX_SCHEMAS = 500;

/** The rows of a name: of all tenants, also deleted ones. The schemas of arguments are left out. */
export type NamedRow = Omit<JobTypeRow, "argsSchema"> & { hasArgsSchema: boolean };

/** Cache entry of all pushed types; not a name. */
const PUSHED = "|pushed";

const rowsOf = cacheOfDatabase<NamedRow[]>("job types", { ttlMs: TTL_MS, maxEntries: MAX_NAMES });
/** Checks of arguments by id and version of the type. */
const argsChecks = new TtlCache<z.ZodType>({ ttlMs: Infinity, maxEntries: MAX_SCHEMAS });

/** Clears the cached types of every instance when `tx` commits. */
export const invalidateJobTypes = (tx: Tx): void => announceChange(tx, { topic: "job types" });

/** The rows of each name. In a transaction they are read, otherwise they may come from the cache. */
export async function readRowsNamed(q: Sql, names: Iterable<string>): Promise<Map<string, NamedRow[]>> {
  const distinct = [...new Set(names)];
  if (distinct.length === 0) return new Map();
  if (isTransaction(q)) return Map.groupBy(await readRows(q, distinct), ({ name }) => name);
  const cache = rowsOf(q);
  const entries = distinct.map(async (name) =>
    [name, await cache.read(name, () => readRows(q, [name]))] as const
  );
  return new Map(await Promise.all(entries));
}

const NAMED_COLUMNS = JOB_TYPE_COLUMNS.replace("args_schema,", "args_schema is not null as has_args_schema,");

const readRows = async (q: Sql, names: string[]): Promise<NamedRow[]> => [
  ...await q<NamedRow[]>`
    select ${q.unsafe(NAMED_COLUMNS)} from job_types where name = any(${names}::text[])`,
];

/** The rows of all types that are pushed, possibly from the cache. */
export const readPushedRows = (q: Sql): Promise<NamedRow[]> =>
  rowsOf(q).read(
    PUSHED,
    async () => [
      ...await q<NamedRow[]>`
        select ${q.unsafe(NAMED_COLUMNS)} from job_types where push_url is not null and deleted_at is null`,
    ],
  );

/** The type that a name stands for in a tenant: its own, else the one of all tenants. */
export function typeIn(rows: NamedRow[] | undefined, tenantId: string | null): NamedRow | undefined {
  const live = (rows ?? []).filter((row) => row.deletedAt === null);
  return live.find((row) => row.tenantId === tenantId) ?? live.find((row) => row.tenantId === null);
}

type TypeSources = Pick<JobPlatform, "sql" | "jobTypes">;

/** The job types that callers of a tenant can name: those of the service, and declared ones with their argument check. */
export async function findJobTypes(
  p: TypeSources,
  tenantId: string | null,
  names: Iterable<string>,
): Promise<Map<string, AnyJobType>> {
  const distinct = [...new Set(names)];
  const declared = await readRowsNamed(p.sql, distinct.filter((name) => !p.jobTypes.get(name)));
  const found = new Map<string, AnyJobType>();
  for (const name of distinct) {
    const row = typeIn(declared.get(name), tenantId);
    const type = p.jobTypes.get(name) ?? (row && remoteType(row, await findArgsCheck(p.sql, row)));
    if (type) found.set(name, type);
  }
  return found;
}

/** Finds the types of existing jobs of any tenants. Their arguments were checked when they were enqueued. */
export async function findTypesOf<J extends { tenantId: string | null; jobTypeName: string }>(
  p: TypeSources,
  jobs: J[],
): Promise<(job: J) => AnyJobType | undefined> {
  const names = jobs.map(({ jobTypeName }) => jobTypeName).filter((name) => !p.jobTypes.get(name));
  const declared = await readRowsNamed(p.sql, names);
  return ({ jobTypeName, tenantId }) => {
    const row = typeIn(declared.get(jobTypeName), tenantId);
    return p.jobTypes.get(jobTypeName) ?? (row && remoteType(row));
  };
}

async function findArgsCheck(q: Sql, { id, version, hasArgsSchema }: NamedRow): Promise<z.ZodType> {
  if (!hasArgsSchema) return z.unknown();
  return await argsChecks.read(`${id} ${version}`, async () => {
    const [row] = await q<
      Pick<JobTypeRow, "argsSchema">[]
    >`select args_schema from job_types where id = ${id}`;
    return row?.argsSchema ? await readArgsSchema(row.argsSchema) : z.unknown();
  });
}

/** Converts a declared type to a job type, whose handler must not run in the service. */
export function remoteType(row: NamedRow, args: z.ZodType = z.unknown()): AnyJobType {
  const rateLimit = rateLimitOf(row);
  return {
    name: row.name,
    args,
    exposed: true,
    secretArgs: row.maskedArgs.map((path) => ({ path: memberPath(path) })),
    searchableArgs: row.searchableArgs,
    timeoutMs: row.timeoutSeconds * 1000,
    maxRetries: row.maxRetries,
    ...(row.concurrency === null ? {} : { concurrency: row.concurrency }),
    ...(rateLimit ? { rateLimit } : {}),
    remote: { id: row.id, tenantId: row.tenantId },
    run: () => Promise.reject(new Error(`${row.name} runs in processes of callers`)),
  };
}

/** Maximum size of a schema, in characters of its JSON. */
const SCHEMA_LENGTH = 32_768;

/**
 * Checks arguments against a JSON Schema (2020-12). `format` is not checked. A reference must point into the schema, and
 * patterns have the syntax of RE2. A check that costs too much is refused: callers choose both schema and arguments.
 * @throws VALIDATION_ERROR if it is not a valid schema
 */
export async function readArgsSchema(argsSchema: string): Promise<z.ZodType> {
  if (argsSchema.length > SCHEMA_LENGTH) {
    throw refused(`expected a schema of at most ${SCHEMA_LENGTH} characters`);
  }
  const schema = JSON.parse(argsSchema);
  requireShallow(schema, "argsSchema");
  const findMistake = await compile(schema);
  requireMarks(schema);
  return z.unknown().superRefine((args, context) => {
    const mistake = findMistake(args);
    if (mistake) context.addIssue({ code: "custom", ...mistake });
  });
}

async function compile(schema: Record<string, unknown>) {
  const { compileSchema } = await import("./schema_validator.ts"); // loading it takes tens of milliseconds
  try {
    return compileSchema(schema);
  } catch (error) {
    throw refused(`expected a JSON Schema (2020-12): ${(error as Error).message}`);
  }
}

/** @throws VALIDATION_ERROR for a mark that is not `true` or a list of paths, or too many marks */
function requireMarks(schema: Record<string, unknown>): void {
  const mark = schema[MARK];
  if (mark !== undefined && !(Array.isArray(mark) && mark.every((path) => PATH.test(String(path))))) {
    throw refused(`${MARK}: expected a list of paths such as customer.id at the root, or true at a property`);
  }
  const paths = markedPaths(schema);
  if (paths.length > MAX_SEARCHABLE) {
    throw refused(`${MARK}: expected at most ${MAX_SEARCHABLE} searchable arguments, found ${paths.length}`);
  }
}

const PATH = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const refused = (message: string) => invalid({ argsSchema: [message] });
