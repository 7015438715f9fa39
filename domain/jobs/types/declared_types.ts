import { announceChange } from "../../../infra/postgres/changes.ts";
import { lockNamed } from "../../../infra/postgres/advisory_locks.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { urlMistake } from "../../../infra/http_out/addresses.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { belongsTo, belongsToOrToAll, readPage } from "../../shared/lists.ts";
import { newSigningSecret } from "../../shared/secrets.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { makeBucketsDue } from "../rate_limit.ts";
import { countScope, type JobReach, within } from "../reach.ts";
import type { JobPlatform } from "../platform.ts";
import { markedPaths } from "../searchable_args.ts";
import {
  type DeclaredJobType,
  declaredJobType,
  invalidateJobTypes,
  JOB_TYPE_COLUMNS,
  type JobTypeRow,
  readArgsSchema,
} from "./find_job_types.ts";

export const JOB_TYPE_NAME = /^[a-z0-9][a-z0-9.-]{0,99}$/;
export const JOB_TYPE_NAME_EXPECTED =
  "expected 1 to 100 of a-z, 0-9, dot and dash, starting with a letter or digit";
/** Names with this prefix are those of the service. */
const RESERVED_PREFIX = "steward.";
/** Most types that a tenant, or the platform for all tenants, may declare. */
const MAX_TYPES = 1_000;

/** The members of a type that a caller sets. An absent member keeps its value; in a new type it has its default. */
export type JobTypeChange = Partial<Pick<DeclaredJobType, keyof typeof NEW_JOB_TYPE>>;

/** The members of a new type that its creator does not set. */
export const NEW_JOB_TYPE = {
  description: null,
  argsSchema: null,
  timeoutSeconds: 300,
  maxRetries: 3,
  concurrency: null,
  rateLimit: null,
  secretArgs: [],
  push: null,
};

/** The result of `putJobType`. `secret` is set if the change begins pushes: it is shown only once. */
export interface PutJobType extends Versioned<DeclaredJobType> {
  isNew: boolean;
  secret: string | null;
}

/**
 * Declares a job type of the caller's tenant, or without a tenant context of all tenants, or changes it.
 * @throws VALIDATION_ERROR (reserved name, invalid schema, push to a private address), JOB_TYPE_NAME_CONFLICT (the platform
 * uses the name, or for the platform a tenant), PRECONDITION_FAILED
 */
export async function putJobType(
  p: Pick<JobPlatform, "sql" | "jobTypes" | "config">,
  caller: Caller,
  name: string,
  change: JobTypeChange,
  ifMatch: string | null,
): Promise<PutJobType> {
  if (name.startsWith(RESERVED_PREFIX) || p.jobTypes.get(name)) {
    throw invalid({ name: [`${name} is reserved for job types of the service`] });
  }
  const mistake = change.push ? urlMistake(change.push.url, p.config.OUTBOUND_ALLOW) : null;
  if (mistake !== null) throw invalid({ "push.url": [mistake] });
  if (change.argsSchema) await readArgsSchema(JSON.stringify(change.argsSchema));
  return await transact(p.sql, async (tx) => {
    await lockName(tx, name);
    const before = await readRow(tx, name, belongsTo(tx, caller.tenantId));
    const isNew = !before || before.deletedAt !== null;
    const secret = change.push && (isNew || before.pushUrl === null) ? newSigningSecret() : null;
    requireVersion(ifMatch, before?.version ?? 0);
    if (isNew) await requireRoom(tx, caller.tenantId, name);
    const former = isNew ? undefined : declaredJobType(before);
    const changed = { ...former ?? NEW_JOB_TYPE, ...change };
    if (!isNew && JSON.stringify(changed) === JSON.stringify(former)) {
      return { ...valueOf(before), isNew, secret };
    }
    await writeType(tx, caller, name, changed, { isNew, secret });
    const row = await readRow(tx, name, belongsTo(tx, caller.tenantId));
    if (!row) throw new Error(`the row of job type ${name} is missing`);
    const written = valueOf(row);
    await audit(tx, caller, name, isNew ? "create" : "update", { before: former, after: written.value });
    return { ...written, isNew, secret };
  });
}

/**
 * Deletes a job type. Its ended jobs stay.
 * @throws JOB_TYPE_NOT_FOUND, JOB_TYPE_IN_USE_CONFLICT (unfinished jobs), PRECONDITION_FAILED
 */
export async function deleteJobType(
  sql: Sql,
  caller: Caller,
  name: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const before = await lockJobType(tx, caller, name, ifMatch);
    const unfinished = await countUnfinished(tx, caller.tenantId, name);
    if (unfinished > 0) {
      throw problem("JOB_TYPE_IN_USE_CONFLICT", `${unfinished} jobs of type ${name} have not ended.`);
    }
    await tx`update job_types set deleted_at = now(), version = version + 1 where id = ${before.id}`;
    await tx`delete from job_type_old_secrets where job_type_id = ${before.id}`;
    await endPauses(tx, caller.tenantId, name);
    invalidateJobTypes(tx);
    await audit(tx, caller, name, "delete", { before: declaredJobType(before) });
  });
}

/** Ends the pauses of a deleted type; those of tenants too if it was declared for all. */
async function endPauses(tx: Tx, tenantId: string | null, name: string): Promise<void> {
  const { count } = await tx`
    delete from job_pauses where kind = 'type' and name = ${name}
      and (${tenantId}::uuid is null or tenant_id = ${tenantId}::uuid)`;
  if (count > 0) announceChange(tx, { topic: "job pauses" });
}

/** Locks a type that the caller declared. @throws JOB_TYPE_NOT_FOUND, PRECONDITION_FAILED */
export async function lockJobType(
  tx: Tx,
  caller: Caller,
  name: string,
  ifMatch: string | null,
): Promise<JobTypeRow> {
  await lockName(tx, name);
  const row = await readRow(tx, name, belongsTo(tx, caller.tenantId));
  if (!row || row.deletedAt) throw noSuchType(name);
  requireVersion(ifMatch, row.version);
  return row;
}

/** SQL condition: the tenant can use the type. */
const usableIn = (q: Sql, tenantId: string | null) =>
  q`deleted_at is null and ${belongsToOrToAll(q, tenantId)}`;

/** A page of the types that the caller's tenant can use, by name: its own and those of all tenants. */
export async function listJobTypes(
  q: Sql,
  caller: Caller,
  page: PageRequest,
): Promise<PagedResult<DeclaredJobType>> {
  const from = q`job_types where ${usableIn(q, caller.tenantId)}`;
  const list = { columns: q.unsafe(JOB_TYPE_COLUMNS), from, order: q`order by name` };
  const rows = await readPage<JobTypeRow>(q, list, page);
  return { ...rows, items: rows.items.map(declaredJobType) };
}

/** Names of all types that the tenant can use. */
export async function readUsableNames(q: Sql, tenantId: string | null): Promise<string[]> {
  const rows = await q<{ name: string }[]>`select name from job_types where ${usableIn(q, tenantId)}`;
  return rows.map(({ name }) => name);
}

/** All types that the tenant can use, by name. */
export async function readUsableTypes(q: Sql, tenantId: string | null): Promise<DeclaredJobType[]> {
  const rows = await q<JobTypeRow[]>`
    select ${q.unsafe(JOB_TYPE_COLUMNS)} from job_types where ${usableIn(q, tenantId)} order by name`;
  return rows.map(declaredJobType);
}

/** Reads a type that the caller's tenant can use. @throws JOB_TYPE_NOT_FOUND */
export async function readJobType(q: Sql, caller: Caller, name: string): Promise<Versioned<DeclaredJobType>> {
  const row = await readRow(q, name, usableIn(q, caller.tenantId));
  if (!row) throw noSuchType(name);
  return valueOf(row);
}

async function readRow(q: Sql, name: string, condition: SqlPart): Promise<JobTypeRow | undefined> {
  const [row] = await q<JobTypeRow[]>`
    select ${q.unsafe(JOB_TYPE_COLUMNS)} from job_types where name = ${name} and ${condition}`;
  return row;
}

const valueOf = (row: JobTypeRow): Versioned<DeclaredJobType> => ({
  value: declaredJobType(row),
  version: row.version,
});

const noSuchType = (name: string) => problem("JOB_TYPE_NOT_FOUND", `No job type ${name} is declared here.`);

/** Changes to types of one name happen one after another, so that a tenant and the platform cannot both take it. */
const lockName = (tx: Tx, name: string) => lockNamed(tx, "jobTypes", name);

/** @throws JOB_TYPE_NAME_CONFLICT, VALIDATION_ERROR (too many types) */
async function requireRoom(tx: Tx, tenantId: string | null, name: string): Promise<void> {
  const [row] = await tx<{ isTaken: boolean; declared: number }[]>`
    select exists (select from job_types where name = ${name} and deleted_at is null
        and (tenant_id is null) = ${tenantId !== null}) as is_taken,
      (select count(*) from job_types where deleted_at is null and ${belongsTo(tx, tenantId)}) as declared`;
  if (row?.isTaken) {
    const detail = tenantId === null
      ? `A tenant has declared a job type ${name}; a type for all tenants needs another name.`
      : `A job type ${name} is declared for all tenants; a type of one tenant needs another name.`;
    throw problem("JOB_TYPE_NAME_CONFLICT", detail);
  }
  if (row && row.declared >= MAX_TYPES) {
    throw invalid({ name: [`${MAX_TYPES} job types are declared, which is the maximum; delete one first`] });
  }
}

/** Inserts or changes the row. @param o.secret signs pushes from now on; null keeps the stored one, if the type is not new */
async function writeType(
  tx: Tx,
  caller: Caller,
  name: string,
  type: Required<JobTypeChange>,
  { isNew, secret }: Pick<PutJobType, "isNew" | "secret">,
): Promise<void> {
  const { description, timeoutSeconds, maxRetries, concurrency, rateLimit, secretArgs, push } = type;
  const schema = type.argsSchema === null ? null : JSON.stringify(type.argsSchema);
  const searchableArgs = markedPaths(type.argsSchema);
  const { count = null, perSeconds = null, key = null } = rateLimit ?? {};
  await tx`
    insert into job_types as t (id, tenant_id, name, description, args_schema, timeout_seconds, max_retries, concurrency,
      rate_count, rate_per_seconds, rate_key, secret_args, masked_args, searchable_args, push_url, signing_secret, created_by)
    values (${newId()}, ${caller.tenantId}, ${name}, ${description}, ${schema}, ${timeoutSeconds}, ${maxRetries},
      ${concurrency}, ${count}, ${perSeconds}, ${key}, ${secretArgs}::text[], ${secretArgs}::text[],
      ${searchableArgs}::text[], ${push?.url ?? null}, ${secret ?? ""}, ${caller.userId})
    on conflict (name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) do update set
      description = excluded.description, args_schema = excluded.args_schema,
      timeout_seconds = excluded.timeout_seconds, max_retries = excluded.max_retries,
      concurrency = excluded.concurrency, rate_count = excluded.rate_count,
      rate_per_seconds = excluded.rate_per_seconds, rate_key = excluded.rate_key,
      secret_args = excluded.secret_args,
      masked_args = array(select distinct unnest(t.masked_args || excluded.masked_args) order by 1),
      searchable_args = excluded.searchable_args, push_url = excluded.push_url, version = t.version + 1, updated_at = now(), deleted_at = null,
      signing_secret = case when ${
    isNew || secret !== null
  } then excluded.signing_secret else t.signing_secret end,
      created_by = case when ${isNew} then excluded.created_by else t.created_by end,
      created_at = case when ${isNew} then now() else t.created_at end`;
  await makeBucketsDue(tx, name);
  invalidateJobTypes(tx);
}

/** Number of unfinished jobs of the type, read from the counters. */
async function countUnfinished(tx: Tx, tenantId: string | null, name: string): Promise<number> {
  const reach: JobReach = tenantId === null ? { everything: true } : { everything: false, tenantId };
  const [row] = await tx<{ unfinished: number }[]>`
    select coalesce(sum(n), 0)::bigint as unfinished from (
      select status, n from job_counts where scope = ${countScope(reach)} and job_type_name = ${name}
      union all
      select status, n from job_count_deltas
      where job_type_name = ${name} and ${within(tx, reach)}
    ) counted where status not in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return row?.unfinished ?? 0;
}

const audit = (
  tx: Tx,
  caller: Caller,
  name: string,
  verb: string,
  change: { before?: DeclaredJobType | undefined; after?: DeclaredJobType },
) => recordAudit(tx, caller, `jobType.${verb}`, name, { ...change });
