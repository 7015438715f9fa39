// Looking up declared job types. Instances cache them.
import { z } from "zod";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { isTransaction, type Sql, type Tx } from "../../../infra/postgres/postgres.ts";
import { cacheOfDatabase, TtlCache } from "../../shared/ttl_cache.ts";
import type { AnyJobType, JobTypes } from "../job_type.ts";
import { memberPath } from "./args_path.ts";
import { readArgsSchema } from "./args_schema.ts";
import { JOB_TYPE_COLUMNS, type JobTypeRow } from "./job_type_row.ts";

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

interface TypeSources {
  sql: Sql;
  jobTypes: JobTypes;
}

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
      { argsSchema: string | null }[]
    >`select args_schema from job_types where id = ${id}`;
    return row?.argsSchema ? await readArgsSchema(row.argsSchema) : z.unknown();
  });
}

/** Converts a declared type to a job type, whose handler must not run in the service. */
export const remoteType = (row: NamedRow, args: z.ZodType = z.unknown()): AnyJobType => ({
  name: row.name,
  args,
  exposed: true,
  secretArgs: row.maskedArgs.map((path) => ({ path: memberPath(path) })),
  searchableArgs: row.searchableArgs,
  timeoutMs: row.timeoutSeconds * 1000,
  maxRetries: row.maxRetries,
  ...(row.concurrency === null ? {} : { concurrency: row.concurrency }),
  ...(row.rateCount === null || row.ratePerSeconds === null
    ? {}
    : { rateLimit: { count: row.rateCount, perSeconds: row.ratePerSeconds, key: row.rateKey } }),
  remote: { tenantId: row.tenantId },
  run: () => Promise.reject(new Error(`${row.name} runs in processes of callers`)),
});
