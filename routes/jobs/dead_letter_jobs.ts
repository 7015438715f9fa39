import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { listDeadLetterGroups, retryDeadLetters } from "../../domain/jobs/dead_letter_groups.ts";
import { listDeadLetters, readDeadLetter } from "../../domain/jobs/dead_letter_list.ts";
import { purgeDeadLetters, retryDeadLetter } from "../../domain/jobs/dead_letters.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { queryBoolean, uuid } from "../shared/validation.ts";
import {
  DeadLetterGroupDto,
  DeadLetterJobDto,
  JobSummaryDto,
  ofTenant,
  PurgeRequest,
  RetryManyRequest,
  RetryManyResponse,
} from "./shapes.ts";

const access = inTenantOrService();

/** Dead letters: jobs that used up their retries. */
export const deadLetterRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/dead-letter-jobs",
    area: "Jobs",
    id: "listDeadLetters",
    summary: "List dead letters, newest first",
    access,
    query: z.object({
      ...pageQuery(),
      ...ofTenant,
      jobTypeName: z.string().max(200).optional(),
      errorPattern: z.string().max(600).optional().meta({ description: "The errorPattern of a group" }),
      isRetried: queryBoolean.optional(),
    }),
    answers: { 200: { description: "A page of dead letters", schema: pagedResultOf(DeadLetterJobDto) } },
    problems: [],
    run: async ({ db, caller, query }) =>
      ok(await listDeadLetters(db, jobReach(caller, query.tenantId), query)),
  }),
  endpoint({
    method: "get",
    path: "/api/v1/dead-letter-jobs/groups",
    area: "Jobs",
    id: "listDeadLetterGroups",
    summary: "List dead letters that were not retried, grouped by job type and error, largest group first",
    access,
    query: z.object({ ...pageQuery(), ...ofTenant }),
    answers: { 200: { description: "A page of groups", schema: pagedResultOf(DeadLetterGroupDto) } },
    problems: [],
    run: async ({ db, caller, query }) =>
      ok(await listDeadLetterGroups(db, jobReach(caller, query.tenantId), query)),
  }),
  endpoint({
    method: "get",
    path: "/api/v1/dead-letter-jobs/{id}",
    area: "Jobs",
    id: "readDeadLetter",
    summary: "Read a dead letter",
    access,
    params: z.object({ id: uuid }),
    answers: { 200: { description: "The dead letter", schema: DeadLetterJobDto } },
    problems: ["JOB_DEADLETTER_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readDeadLetter(db, jobReach(caller), params.id)),
  }),
  endpoint({
    method: "post",
    path: "/api/v1/dead-letter-jobs/retry",
    area: "Jobs",
    id: "retryDeadLetters",
    summary: "Retry all matching dead letters",
    access,
    query: z.object(ofTenant),
    body: RetryManyRequest,
    bodyOptional: true,
    creates: "atomically",
    answers: {
      200: { description: "Number of matching and of retried dead letters", schema: RetryManyResponse },
    },
    problems: [],
    run: async ({ platform, caller, query, body: { dryRun, ...filter } }) =>
      ok(
        await retryDeadLetters(platform, caller, { filter, reach: jobReach(caller, query.tenantId), dryRun }),
      ),
  }),
  endpoint({
    method: "post",
    path: "/api/v1/dead-letter-jobs/purge",
    area: "Jobs",
    id: "purgeDeadLetters",
    summary: "Delete dead letters older than a number of days, or all",
    access,
    query: z.object(ofTenant),
    body: PurgeRequest,
    bodyOptional: true,
    answers: {
      200: {
        description: "Number of deleted dead letters",
        schema: z.object({ purged: z.int() }).meta({ id: "PurgeDeadLettersResponse" }),
      },
    },
    problems: [],
    run: async ({ db, caller, query, body }) =>
      ok({
        purged: await purgeDeadLetters(db, caller, {
          retentionDays: body.retentionDays ?? null,
          reach: jobReach(caller, query.tenantId),
        }),
      }),
  }),
  endpoint({
    method: "post",
    path: "/api/v1/dead-letter-jobs/{id}/retry",
    area: "Jobs",
    id: "retryDeadLetter",
    summary: "Enqueue the job of a dead letter again",
    access,
    params: z.object({ id: uuid }),
    creates: "atomically",
    answers: { 200: { description: "The new job", schema: JobSummaryDto } },
    problems: ["JOB_DEADLETTER_NOT_FOUND", "JOB_DEADLETTER_ALREADY_RETRIED"],
    run: async ({ platform, caller, params }) => ok(await retryDeadLetter(platform, caller, params.id)),
  }),
] as const;
