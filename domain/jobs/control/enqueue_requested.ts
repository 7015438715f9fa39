import { z } from "zod";
import { afterCommit, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { invalid, Problem, problem } from "../../problems/problem.ts";
import { holds, isProgram } from "../../rights/caller.ts";
import { type BulkFailure, bulkFailure, type BulkOutcome, wholeRequestProblem } from "../../shared/bulk.ts";
import { lostDigits, parseExactly } from "../../shared/exact_json.ts";
import { newId } from "../../shared/ids.ts";
import { enumName, instant, orNull, requiredText, uuid, withDefault } from "../../shared/shapes.ts";
import { requireShallow } from "../../shared/storable.ts";
import { lockParents } from "../continuations.ts";
import { argsAndLimits, hasKeys, type NewJob, wakeFor, writeJobs, writeUniqueJobs } from "../enqueue.ts";
import { type JobSummary, jobSummary, parentsOf, PRIORITIES, queueName } from "../job_row.ts";
import { type AnyJobType, isForCreator, type JobTypes } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import { type JobActor, jobReach, within } from "../reach.ts";
import { findJobTypes } from "../types/find_job_types.ts";
import { keepSecrets, requireNoHidden } from "../types/secret_args.ts";
import { unique } from "../unique_jobs.ts";

export const serializedArgs = z.string({ error: "expected a string that holds JSON" });

/** A job as a caller requests it. */
export const RequestedJob = z.object({
  jobTypeName: requiredText(200),
  serializedArgs: withDefault(serializedArgs, "{}"),
  argsTypeName: orNull(z.string().max(200)), // kept as given
  priority: withDefault(enumName(PRIORITIES), "Normal"),
  queue: withDefault(queueName, "default"),
  scheduledAt: orNull(instant),
  maxRetries: orNull(z.int().min(0).max(25)),
  parentJobId: orNull(uuid),
  parentJobIds: withDefault(z.array(uuid).max(1_000), []).describe(
    "The job starts when all have succeeded, and is cancelled when one is dead-lettered or cancelled",
  ),
  ...unique,
}).refine(
  ({ parentJobId, parentJobIds }) => parentJobId === null || parentJobIds.length === 0,
  { path: ["parentJobIds"], error: "expected either parentJobId or parentJobIds, not both" },
).meta({ id: "EnqueueJobRequest" });
export type RequestedJob = z.output<typeof RequestedJob>;

type EnqueuePlatform = Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "jobWriter">;

/** An enqueued job, or the job that holds its key already. */
export interface Enqueued {
  job: JobSummary;
  isDuplicate: boolean;
}

/**
 * Enqueues a job for the caller's tenant, unless another job holds its key.
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (a program, but only users may enqueue the type),
 * VALIDATION_ERROR (arguments are not JSON or do not fit the type, or the parent is out of reach)
 */
export async function enqueueRequestedJob(
  p: EnqueuePlatform,
  caller: JobActor,
  request: RequestedJob,
): Promise<Enqueued> {
  const types = await findJobTypes(p, caller.tenantId, [request.jobTypeName]);
  const [enqueued] = await enqueueAll(p, caller, [toNewJob(p.jobTypes, types, caller, request)]);
  if (!enqueued) throw new Error("enqueuing one job returned no row");
  return enqueued;
}

/**
 * Enqueues many jobs in one transaction. With `continueOnError`, the valid jobs are enqueued and the others reported;
 * without it, one failure refuses all. An item whose key another job holds results in that job.
 * @param items the requested job, or the problem found when the item was parsed.
 * @returns also the indexes of the duplicates among the items
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN, VALIDATION_ERROR when not `continueOnError`
 */
export async function enqueueRequestedJobs(
  p: EnqueuePlatform,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
  continueOnError: boolean,
): Promise<BulkOutcome<JobSummary> & { duplicates: number[] }> {
  const checked = await checkRequestedJobs(p, caller, items);
  const valid: [index: number, job: IdentifiedJob][] = [];
  const failures: BulkFailure[] = [];
  for (const [index, job] of checked.entries()) {
    if (!(job instanceof Problem)) valid.push([index, job]);
    else if (continueOnError) failures.push(bulkFailure(index, job));
    else throw wholeRequestProblem(index, job);
  }
  const enqueued = valid.length === 0 ? [] : await enqueueAll(p, caller, valid.map(([, job]) => job));
  return {
    total: items.length,
    succeeded: enqueued.length,
    failed: failures.length,
    results: enqueued.map(({ job }) => job),
    failures,
    duplicates: valid.flatMap(([index], n) => enqueued[n]?.isDuplicate ? [index] : []),
  };
}

export type IdentifiedJob = NewJob & { id: string };

/** Checks requested jobs. Returns for each the job to insert, or the problem. */
export async function checkRequestedJobs(
  p: EnqueuePlatform,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
): Promise<(IdentifiedJob | Problem)[]> {
  const parents = await parentsInReach(p.sql, caller, items);
  const names = items.flatMap((item) => item instanceof Problem ? [] : item.jobTypeName);
  const types = await findJobTypes(p, caller.tenantId, names);
  return items.map((item) => {
    try {
      if (item instanceof Problem) return item;
      const job = toNewJob(p.jobTypes, types, caller, item);
      requireParents(job, parents);
      return job;
    } catch (refusal) {
      if (refusal instanceof Problem) return refusal;
      throw refusal;
    }
  });
}

/** Inserts checked jobs and wakes workers. A job whose key is held results in the holder. */
export async function enqueueAll(
  p: EnqueuePlatform,
  caller: JobActor,
  jobs: IdentifiedJob[],
): Promise<Enqueued[]> {
  const parentIds = jobs.flatMap(parentsOf);
  const rows = parentIds.length === 0
    ? await p.jobWriter.write(p.sql, jobs)
    : await transact(p.sql, async (tx) => {
      const found = await lockParents(tx, parentIds, jobReach(caller));
      for (const job of jobs) requireParents(job, found);
      afterCommit(tx, () => wakeFor(p, jobs));
      return await (hasKeys(jobs) ? writeUniqueJobs : writeJobs)(tx, jobs, found);
    });
  return rows.map((row, n) => ({ job: jobSummary(row), isDuplicate: row.id !== jobs[n]?.id }));
}

async function parentsInReach(
  q: Sql,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
): Promise<ReadonlySet<string>> {
  const ids = items.flatMap((item) => item instanceof Problem ? [] : givenParents(item));
  if (ids.length === 0) return new Set();
  const rows = await q<{ id: string }[]>`
    select id from jobs where id = any(${ids}::uuid[]) and ${within(q, jobReach(caller))}`;
  return new Set(rows.map((row) => row.id));
}

const givenParents = ({ parentJobId, parentJobIds }: RequestedJob): string[] =>
  parentJobIds.length > 0 ? parentJobIds : parentsOf({ parentJobId });

/** @throws VALIDATION_ERROR for a parent that was not found */
function requireParents(job: NewJob, found: { has(id: string): boolean }): void {
  const missing = parentsOf(job).find((id) => !found.has(id));
  const member = job.parentJobIds ? "parentJobIds" : "parentJobId";
  if (missing) throw invalid({ [member]: [`no job ${missing} is within the caller's reach`] });
}

/** @param types result of `findJobTypes` */
function toNewJob(
  known: JobTypes,
  types: ReadonlyMap<string, AnyJobType>,
  caller: JobActor,
  request: RequestedJob,
): IdentifiedJob {
  const type = requireExposedType(known, types, request.jobTypeName);
  requireMayEnqueue(type, caller);
  requireFittingArgs(type, request.serializedArgs);
  const parents = [...new Set(givenParents(request))];
  return {
    ...request,
    parentJobId: parents.length === 1 ? parents[0] ?? null : null,
    parentJobIds: parents.length > 1 ? parents : null,
    id: newId(),
    maxRetries: request.maxRetries ?? type.maxRetries,
    ...argsAndLimits(type, request.serializedArgs),
    declaredTypeId: type.remote?.id ?? null,
    tenantId: caller.tenantId,
    createdBy: caller.userId,
    traceId: caller.traceId,
  };
}

/** Returns the exposed type with this name. @param types result of `findJobTypes` @throws JOB_TYPE_UNKNOWN */
export function requireExposedType(
  known: JobTypes,
  types: ReadonlyMap<string, AnyJobType>,
  name: string,
): AnyJobType {
  const type = types.get(name);
  if (type?.exposed) return type;
  const expected = `expected a declared type or one of ${known.exposedNames().join(", ")}`;
  throw problem(
    "JOB_TYPE_UNKNOWN",
    `"${name.slice(0, 200)}" is not a job type that callers may enqueue; ${expected}.`,
  );
}

/**
 * Checks that the caller may enqueue jobs of the type.
 * @throws MISSING_PERMISSION (the type's permission), FORBIDDEN (an API key or a service account, but the job would run
 * with all rights of a user)
 */
export function requireMayEnqueue(type: AnyJobType | undefined, caller: JobActor): void {
  if (type?.permission && !holds(caller, type.permission)) {
    throw problem(
      "MISSING_PERMISSION",
      `Jobs of type ${type.name} need ${type.permission}, which the caller does not hold.`,
    );
  }
  if (!isForCreator(type) || !isProgram(caller)) return;
  const what = type?.name ?? "A job of an unknown type";
  throw problem(
    "FORBIDDEN",
    `${what} runs with the rights of the user who enqueues it; the caller is not a user.`,
  );
}

/**
 * @throws VALIDATION_ERROR when the arguments are not JSON, nested too deep, do not fit the type, or have a number with more
 * digits than the code of this service would receive
 */
export function requireFittingArgs(type: AnyJobType, serializedArgs: string): void {
  const value = requireJson(serializedArgs);
  const lost = type.remote ? null : lostDigits(parseExactly(serializedArgs));
  if (lost) throw invalid({ serializedArgs: [`${lost.path.join(".") || "value"}: ${lost.mistake}`] });
  const fit = type.args.safeParse(value);
  if (fit.success) return requireNoHidden(type, value);
  throw invalid({
    serializedArgs: fit.error.issues.map(({ path, message }) =>
      path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
    ),
  });
}

/** Parses JSON of a limited depth, as in a body. @throws VALIDATION_ERROR */
function requireJson(serializedArgs: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(serializedArgs);
  } catch (error) {
    throw invalid({ serializedArgs: [`expected a JSON document: ${(error as Error).message}`] });
  }
  requireShallow(value, "serializedArgs");
  return value;
}

/**
 * The arguments after a change: `***` keeps the secret stored at the same place.
 * @param type undefined if it was deleted; it may be declared again
 * @param mask what is secret
 * @throws VALIDATION_ERROR when they are not JSON, nested too deep or do not fit the type, or when a secret was stored for
 * another receiver
 */
export function changedArgs(
  type: AnyJobType | undefined,
  given: string,
  stored: string,
  mask: Pick<AnyJobType, "secretArgs" | "receiver"> | undefined = type,
): string {
  requireJson(given);
  const kept = keepSecrets(mask, given, stored);
  if (type) requireFittingArgs(type, kept);
  return kept;
}
