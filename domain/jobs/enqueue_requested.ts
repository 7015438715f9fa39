import { type Sql, transact, whenCommitted } from "../../infra/postgres/postgres.ts";
import { invalid, Problem, problem } from "../problems/problem.ts";
import { holds } from "../rights/caller.ts";
import { type BulkFailure, bulkFailure, type BulkOutcome, wholeRequestProblem } from "../shared/bulk.ts";
import { lockParents } from "./continuations.ts";
import { type NewJob, wakeFor, writeJobs } from "./enqueue.ts";
import { type JobPriority, type JobSummary, jobSummary } from "./job_row.ts";
import { type AnyJobType, isForCreator, type JobTypes, limitKeyOf } from "./job_type.ts";
import type { JobPlatform } from "./platform.ts";
import { type JobActor, jobReach, within } from "./reach.ts";
import { requireNoHidden } from "./secret_args.ts";

/** A job as a caller requests it. */
export interface RequestedJob {
  jobTypeName: string;
  serializedArgs: string;
  argsTypeName: string | null;
  priority: JobPriority;
  queue: string;
  scheduledAt: Date | null;
  maxRetries: number | null;
  parentJobId: string | null;
}

type Parts = Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "jobWriter">;

/**
 * Enqueues a job for the caller's tenant.
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (API key, but only users may enqueue the type),
 * VALIDATION_ERROR (arguments are not JSON or do not fit the type, or the parent is out of reach)
 */
export async function enqueueRequestedJob(
  p: Parts,
  caller: JobActor,
  request: RequestedJob,
): Promise<JobSummary> {
  const [job] = await enqueueAll(p, caller, [toNewJob(p.jobTypes, caller, request)]);
  if (!job) throw new Error("enqueuing one job returned no row");
  return job;
}

/**
 * Enqueues many jobs in one transaction. With `continueOnError`, the valid jobs are enqueued and the others reported;
 * without it, one failure refuses all.
 * @param items the requested job, or the problem found when the item was parsed.
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN, VALIDATION_ERROR when not `continueOnError`
 */
export async function enqueueRequestedJobs(
  p: Parts,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
  continueOnError: boolean,
): Promise<BulkOutcome<JobSummary>> {
  const jobs: NewJob[] = [];
  const failures: BulkFailure[] = [];
  const parents = await parentsInReach(p.sql, caller, items);
  for (const [index, item] of items.entries()) {
    try {
      if (item instanceof Problem) throw item;
      if (item.parentJobId && !parents.has(item.parentJobId)) throw noSuchParent(item.parentJobId);
      jobs.push(toNewJob(p.jobTypes, caller, item));
    } catch (refusal) {
      if (!(refusal instanceof Problem)) throw refusal;
      if (!continueOnError) throw wholeRequestProblem(index, refusal);
      failures.push(bulkFailure(index, refusal));
    }
  }
  const results = jobs.length === 0 ? [] : await enqueueAll(p, caller, jobs);
  return { total: items.length, succeeded: results.length, failed: failures.length, results, failures };
}

async function enqueueAll(p: Parts, caller: JobActor, jobs: NewJob[]): Promise<JobSummary[]> {
  const parentIds = jobs.flatMap((job) => job.parentJobId ?? []);
  const rows = parentIds.length === 0
    ? await p.jobWriter.write(p.sql, jobs)
    : await transact(p.sql, async (tx) => {
      const found = await lockParents(tx, parentIds, jobReach(caller));
      for (const id of parentIds) if (!found.has(id)) throw noSuchParent(id);
      return await writeJobs(tx, jobs, found);
    });
  whenCommitted(p.sql, () => wakeFor(p, jobs));
  return rows.map(jobSummary);
}

async function parentsInReach(
  sql: Sql,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
): Promise<ReadonlySet<string>> {
  const ids = items.flatMap((item) => item instanceof Problem ? [] : item.parentJobId ?? []);
  if (ids.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    select id from jobs where id = any(${ids}::uuid[]) and ${within(sql, jobReach(caller))}`;
  return new Set(rows.map((row) => row.id));
}

const noSuchParent = (id: string) => invalid({ parentJobId: [`no job ${id} is within the caller's reach`] });

function toNewJob(types: JobTypes, caller: JobActor, request: RequestedJob): NewJob {
  const type = requireExposedType(types, request.jobTypeName);
  requireMayEnqueue(type, caller);
  requireFittingArgs(type, request.serializedArgs);
  return {
    ...request,
    maxRetries: request.maxRetries ?? type.maxRetries,
    limitKey: limitKeyOf(type),
    tenantId: caller.tenantId,
    createdBy: caller.userId,
    traceId: caller.traceId,
  };
}

/** Returns the exposed type with this name. @throws JOB_TYPE_UNKNOWN */
export function requireExposedType(types: JobTypes, name: string): AnyJobType {
  const type = types.get(name);
  if (type?.exposed) return type;
  const expected = types.exposedNames().join(", ");
  throw problem(
    "JOB_TYPE_UNKNOWN",
    `"${name.slice(0, 200)}" is not a job type that callers may enqueue; expected one of ${expected}.`,
  );
}

/**
 * Checks that the caller may enqueue jobs of the type.
 * @throws MISSING_PERMISSION (the type's permission), FORBIDDEN (an API key, but the job would run with all rights of
 * the key's creator)
 */
export function requireMayEnqueue(type: AnyJobType | undefined, caller: JobActor): void {
  if (type?.permission && !holds(caller, type.permission)) {
    throw problem(
      "MISSING_PERMISSION",
      `Jobs of type ${type.name} need ${type.permission}, which the caller does not hold.`,
    );
  }
  if (!isForCreator(type) || caller.apiKeyId === null) return;
  const what = type?.name ?? "A job of an unknown type";
  throw problem(
    "FORBIDDEN",
    `${what} runs with the rights of the user who enqueues it; the caller is an API key, which has fewer rights.`,
  );
}

/** @throws VALIDATION_ERROR when the arguments are not JSON or do not fit the type */
export function requireFittingArgs(type: AnyJobType, serializedArgs: string): void {
  const value = requireJson(serializedArgs);
  const fit = type.args.safeParse(value);
  if (fit.success) return requireNoHidden(type, value);
  throw invalid({
    serializedArgs: fit.error.issues.map(({ path, message }) =>
      path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
    ),
  });
}

/** Parses JSON. @throws VALIDATION_ERROR */
export function requireJson(serializedArgs: string): unknown {
  try {
    return JSON.parse(serializedArgs);
  } catch (error) {
    throw invalid({ serializedArgs: [`expected a JSON document: ${(error as Error).message}`] });
  }
}
