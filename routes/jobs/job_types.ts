import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import {
  deleteJobType,
  JOB_TYPE_NAME,
  JOB_TYPE_NAME_EXPECTED,
  listJobTypes,
  NEW_JOB_TYPE,
  putJobType,
  readJobType,
} from "../../domain/jobs/types/declared_types.ts";
import { ARGS_SCHEMA, DeclaredJobType } from "../../domain/jobs/types/find_job_types.ts";
import { ARGS_PATH, ARGS_PATH_EXPECTED } from "../../domain/jobs/types/secret_args.ts";
import { rotateSigningSecret } from "../../domain/jobs/types/signing_secrets.ts";
import { definedMembers } from "../../domain/shared/defined_members.ts";
import { createdVersioned, noContentAfter, ok, okVersioned, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import {
  optionalObject,
  optionalText,
  orNull,
  orReset,
  requiredText,
  storedText,
} from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { PauseState, pauseWork, resumeWork } from "../../domain/jobs/limits/pauses.ts";
import { queueName } from "../../domain/jobs/job_row.ts";

const endpoint = endpointsIn("Jobs");

const path = z.string().max(200).regex(ARGS_PATH, ARGS_PATH_EXPECTED)
  .meta({ description: "Path in the arguments, such as `$.customer.id`", example: "$.customer.id" });
const rateLimit = z.object({
  count: z.int().min(1).max(1_000_000),
  perSeconds: z.int().min(1).max(86_400),
  key: orNull(path.refine((value) => !value.includes("*"), ARGS_PATH_EXPECTED)),
}).meta({
  id: "JobRateLimit",
  description: "At most `count` jobs start per `perSeconds` seconds; with `key`, for each value there",
});
const push = z.object({
  url: z.url({ protocol: /^https?$/, error: "expected an http or https URL" }).max(2_000),
}).describe("Jobs are sent to this URL as Standard Webhooks, instead of being claimed");

const PutJobTypeRequest = z.object({
  description: storedText(2_000).nullish(),
  argsSchema: optionalObject.meta({ ...ARGS_SCHEMA }),
  timeoutSeconds: orReset(z.int().min(1).max(604_800), NEW_JOB_TYPE.timeoutSeconds),
  maxRetries: orReset(z.int().min(0).max(25), NEW_JOB_TYPE.maxRetries),
  concurrency: z.int().min(1).max(100_000).nullish(),
  rateLimit: rateLimit.nullish(),
  secretArgs: orReset(z.array(path).max(50), []).describe("Stored as given and always shown as `***`"),
  push: push.nullish(),
}).meta({
  id: "PutJobTypeRequest",
  description:
    "Omitted members keep their values; null sets the default: 300 s, 3 retries, no schema and no limits",
});

const DeclaredJobTypeDto = DeclaredJobType.extend({
  secret: z.string().optional().describe(
    "Signing key of pushes (Standard Webhooks); shown only when `push` is set for the first time or again",
  ),
}).meta({ id: "DeclaredJobTypeDto", description: "A job type whose handler runs outside of the service" });

const access = inTenantOrService("manage:job-types");
/** Common members of the routes of one job type. */
const ofOne = {
  access,
  params: z.object({ name: z.string().regex(JOB_TYPE_NAME, JOB_TYPE_NAME_EXPECTED) }),
} as const;

/** Job types that callers declare. */
export const jobTypeRoutes = [
  endpoint("GET /api/v1/job-types", {
    id: "listDeclaredJobTypes",
    summary: "List the declared job types that the tenant can use, by name",
    access,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of job types", schema: pagedResultOf(DeclaredJobTypeDto) } },
    run: async ({ db, caller, query }) => ok(await listJobTypes(db, caller, query)),
  }),
  endpoint("GET /api/v1/job-types/{name}", {
    id: "readDeclaredJobType",
    summary: "Read a declared job type",
    ...ofOne,
    answers: { 200: { description: "The job type", schema: DeclaredJobTypeDto, etag: true } },
    problems: ["JOB_TYPE_NOT_FOUND"],
    run: async ({ db, caller, params }) => versionedAnswer(await readJobType(db, caller, params.name)),
  }),
  endpoint("PUT /api/v1/job-types/{name}", {
    id: "putJobType",
    summary: "Declare or change a job type whose handler runs outside of the service",
    details: "Without a tenant context the type is for all tenants.",
    ...ofOne,
    body: PutJobTypeRequest,
    bodyOptional: true,
    creates: "a secret",
    answers: {
      200: { description: "Changed, or unchanged", schema: DeclaredJobTypeDto, etag: true },
      201: {
        description: "Declared; with `push`, `secret` is shown only in this answer",
        schema: DeclaredJobTypeDto,
        etag: true,
      },
    },
    problems: ["JOB_TYPE_NAME_CONFLICT", "PRECONDITION_FAILED"],
    async run({ platform, caller, params: { name }, body, call }) {
      const put = await putJobType(platform, caller, name, definedMembers(body), call.ifMatch);
      const { value, version, isNew, secret } = put;
      const shown = secret === null ? value : { ...value, secret };
      if (!isNew) return okVersioned(shown, version);
      return createdVersioned(shown, `/api/v1/job-types/${name}`, version);
    },
  }),
  endpoint("DELETE /api/v1/job-types/{name}", {
    id: "deleteJobType",
    summary: "Delete a declared job type that has no unfinished jobs",
    ...ofOne,
    answers: { 204: { description: "Deleted" } },
    problems: ["JOB_TYPE_NOT_FOUND", "JOB_TYPE_IN_USE_CONFLICT", "PRECONDITION_FAILED"],
    run: ({ db, caller, params, call }) =>
      noContentAfter(deleteJobType(db, caller, params.name, call.ifMatch)),
  }),
  endpoint("POST /api/v1/job-types/{name}/rotate-secret", {
    id: "rotateJobTypeSecret",
    summary: "Rotate the secret that signs pushes; the old secret also signs for one day",
    ...ofOne,
    creates: "a secret",
    answers: {
      200: {
        description: "The new secret, shown only in this answer",
        schema: z.object({ secret: z.string(), oldSecretHours: z.int() }).meta({ id: "JobTypeSecretDto" }),
      },
    },
    problems: ["JOB_TYPE_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await rotateSigningSecret(db, caller, params.name)),
  }),
] as const;

const details =
  "For the own tenant's jobs; a system administrator without a tenant context acts for all tenants. " +
  "Repeating the request changes nothing.";
/** Common members. */
const control = {
  access: inTenantOrService("manage:jobs"),
  details,
  answers: { 200: { description: "What is paused now", schema: PauseState } },
} as const;
const PauseRequest = z.object({ reason: optionalText(500) }).meta({ id: "PauseJobsRequest" });
const ofQueue = z.object({ queue: queueName });
const ofType = z.object({ name: requiredText(200) });

/** Pausing and resuming queues and job types: waiting jobs stay, running jobs finish. */
export const pauseRoutes = [
  endpoint("POST /api/v1/jobs/queues/{queue}/pause", {
    ...control,
    id: "pauseJobQueue",
    summary: "Pause a queue: its waiting jobs do not start",
    params: ofQueue,
    body: PauseRequest,
    bodyOptional: true,
    run: async ({ platform, caller, params, body }) =>
      ok(await pauseWork(platform, caller, { kind: "queue", name: params.queue }, body.reason)),
  }),
  endpoint("POST /api/v1/jobs/queues/{queue}/resume", {
    ...control,
    id: "resumeJobQueue",
    summary: "Resume a paused queue",
    params: ofQueue,
    run: async ({ platform, caller, params }) =>
      ok(await resumeWork(platform, caller, { kind: "queue", name: params.queue })),
  }),
  endpoint("POST /api/v1/job-types/{name}/pause", {
    ...control,
    id: "pauseJobType",
    summary: "Pause a job type: its waiting jobs do not start",
    params: ofType,
    body: PauseRequest,
    bodyOptional: true,
    problems: ["JOB_TYPE_NOT_FOUND"],
    run: async ({ platform, caller, params, body }) =>
      ok(await pauseWork(platform, caller, { kind: "type", name: params.name }, body.reason)),
  }),
  endpoint("POST /api/v1/job-types/{name}/resume", {
    ...control,
    id: "resumeJobType",
    summary: "Resume a paused job type",
    params: ofType,
    problems: ["JOB_TYPE_NOT_FOUND"],
    run: async ({ platform, caller, params }) =>
      ok(await resumeWork(platform, caller, { kind: "type", name: params.name })),
  }),
] as const;
