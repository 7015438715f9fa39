// Calls of the job routes that many tests make.
import assert from "node:assert/strict";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { TestService } from "../../support/setup.ts";

export const JOBS = "/api/v1/jobs";
export const DEAD_LETTERS = "/api/v1/dead-letter-jobs";
export const RECURRING = "/api/v1/recurring-jobs";
/** After every test. */
export const LATER = "2090-01-01T00:00:00.000Z";
export const WORKER_PERMISSIONS = ["manage:job-types", "work:jobs"];

type Members = Record<string, unknown>;
let declared = 0;

export const jobOf = (
  jobTypeName: string,
  args: unknown = {},
  more: Members = {},
): Members & { jobTypeName: string; serializedArgs: string } => ({
  jobTypeName,
  serializedArgs: JSON.stringify(args),
  ...more,
});

/** Declares a job type that remote workers run. @returns its name */
export async function declareType(
  by: HttpClient,
  type: Members = {},
  name = `declared.type-${++declared}`,
): Promise<string> {
  await accepted(by.put(`/api/v1/job-types/${name}`, type), 201);
  return name;
}

export async function enqueueJob(
  by: HttpClient,
  jobTypeName = "steward.echo",
  args: unknown = {},
  more: Members = {},
): Promise<string> {
  return (await accepted(by.post(JOBS, jobOf(jobTypeName, args, more)), 201)).id;
}

export async function enqueueMany(
  by: HttpClient,
  jobTypeName: string,
  args: unknown[],
  more: Members = {},
): Promise<string[]> {
  const items = args.map((each) => jobOf(jobTypeName, each, more));
  return idsOf((await accepted(by.post(`${JOBS}/bulk`, { items }), 200)).results);
}

/** Makes waiting jobs due now. */
export async function runNow({ sql, platform }: TestService, ...ids: string[]): Promise<void> {
  await sql`update jobs set status = 'Enqueued', due_at = now() - interval '1 ms' where id = any(${ids}::uuid[])`;
  platform.wakeUps.at(new Date(0));
}

export const readJob = async (by: HttpClient, id: string) => (await by.get(`${JOBS}/${id}`)).body;
export const executionsOf = async (by: HttpClient, id: string) =>
  (await by.get(`${JOBS}/${id}/executions`)).body.items;
/** The open or retried dead letter of a job. */
export const deadLetterOf = async (by: HttpClient, jobId: string) =>
  (await by.get(`${DEAD_LETTERS}?pageSize=100`)).body.items
    .find((letter: { jobId: string }) => letter.jobId === jobId);

/** Adds dead-lettered jobs with these errors to a tenant. @returns the ids of their dead letters, in order */
export async function addDeadLetters(
  sql: Sql,
  tenantId: string | null,
  errors: string[],
  jobTypeName = "steward.fail",
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    with failed as (
      insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        completed_at, attempts, max_retries, last_error)
      select uuidv7(), ${tenantId}, ${jobTypeName}, '{}', 'FireAndForget', 'DeadLettered', 2, 'default', 'default||', now(),
        now(), 1, 0, error from unnest(${errors}::text[]) error returning *
    )
    insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message)
    select uuidv7(), id, tenant_id, job_type_name, queue, serialized_args, attempts, last_error from failed returning id`;
  return rows.map(({ id }) => id);
}

export const idsOf = (items: { id: string }[]): string[] => items.map(({ id }) => id);
export const jobIdsOf = (items: { jobId: string }[]): string[] => items.map(({ jobId }) => jobId);
/** Status and code of an answer, such as "404 JOB_NOT_FOUND". */
export const refusal = ({ status, body }: HttpAnswer): string => `${status} ${body.code}`;
export const assertHas: (actual: unknown, expected: Members) => void = assert.partialDeepStrictEqual;
