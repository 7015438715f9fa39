import { z } from "zod";
import { PauseState, pauseWork, resumeWork } from "../../domain/jobs/limits/pauses.ts";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { requiredText } from "../../domain/shared/shapes.ts";
import { queueName } from "../../domain/jobs/job_row.ts";
import { PauseRequest } from "./shapes.ts";

const endpoint = endpointsIn("Jobs");

const details =
  "For the own tenant's jobs; a system administrator without a tenant context acts for all tenants. " +
  "Repeating the request changes nothing.";
/** Common members. */
const control = {
  access: inTenantOrService("manage:jobs"),
  details,
  answers: { 200: { description: "What is paused now", schema: PauseState } },
} as const;
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
