import { z } from "zod";
import { isAnyPaused } from "../../domain/jobs/limits/pauses.ts";
import { invalid } from "../../domain/problems/problem.ts";
import { inServedTenantsOrService } from "../../domain/rights/checks.ts";
import { queueName } from "../../domain/jobs/job_row.ts";
import { claimWork, WorkItem } from "../../domain/jobs/remote/claim_work.ts";
import { BeatAnswer, renewWork } from "../../domain/jobs/remote/heartbeat.ts";
import { JOB_TYPE_NAME, JOB_TYPE_NAME_EXPECTED } from "../../domain/jobs/types/declared_types.ts";
import { settleWork, WORK_OUTCOMES, WorkAnswer } from "../../domain/jobs/remote/settle_work.ts";
import { ok } from "../shared/answer.ts";
import { callerOf } from "../shared/caller_of.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, orNull, uuid, withDefault } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Jobs");

/** Maximum size of the bodies of heartbeats and settlements, in bytes. */
const BODY_BYTES = 8 * 1024 * 1024;
const OUTPUT_BYTES = 64 * 1024;
const ERROR_BYTES = 8 * 1024;
const LINE_BYTES = 2 * 1024;
/** Maximum number of jobs of one heartbeat or settlement. */
const MAX_JOBS = 1_000;
const MAX_PROGRAM_CHARACTERS = 200;
const LONGEST_DELAY_SECONDS = 30 * 24 * 3600;

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;
const text = (bytes: number) =>
  z.string().refine((value) => bytesOf(value) <= bytes, `expected at most ${bytes} bytes of UTF-8`);
const typeName = z.string().regex(JOB_TYPE_NAME, JOB_TYPE_NAME_EXPECTED);
const attempt = z.int().min(1).max(2_147_483_647);

const ClaimRequest = z.object({
  types: z.array(typeName).min(1).max(100),
  queues: orNull(z.array(queueName).min(1).max(100)).describe("Absent: all queues"),
  max: z.int().min(1).max(500).default(1),
  waitSeconds: z.number().min(0).max(50).default(0),
  worker: z.string().trim().min(1).max(200).describe("Name of the worker process"),
  requestId: orNull(uuid).describe("A repeated claim with the same id gets the same jobs"),
}).meta({ id: "ClaimWorkRequest" });

const line = z.object({
  level: enumName(["debug", "info", "warn", "error"]),
  message: z.string(),
  fields: orNull(z.record(z.string(), z.unknown())),
}).refine(
  (line) => bytesOf(JSON.stringify(line)) <= LINE_BYTES,
  `expected a line of at most ${LINE_BYTES} bytes`,
);

const HeartbeatRequest = z.object({
  jobs: z.array(z.object({
    jobId: uuid,
    attempt,
    percent: orNull(z.number().min(0).max(100)),
    note: orNull(z.string().max(500)),
    log: withDefault(z.array(line).max(100), []),
  })).max(MAX_JOBS),
}).meta({ id: "HeartbeatRequest" });

const result = z.object({
  jobId: uuid,
  attempt,
  outcome: enumName(WORK_OUTCOMES),
  output: z.unknown().optional().describe("JSON; stored as the output of the execution"),
  error: orNull(text(ERROR_BYTES)),
  retryInSeconds: orNull(z.number().min(0).max(LONGEST_DELAY_SECONDS)).describe(
    "Delay before a failed or postponed job runs again",
  ),
}).refine(
  ({ outcome, retryInSeconds }) => retryInSeconds === null || outcome === "failed" || outcome === "postponed",
  { path: ["retryInSeconds"], error: "only a failed or postponed job runs again after a delay" },
);

const SettleRequest = z.object({ jobs: z.array(result).max(MAX_JOBS) }).meta({
  id: "SettleWorkRequest",
});

/** The JSON of an output; null: none. @throws VALIDATION_ERROR if it is too long */
function outputOf(value: unknown, index: number): string | null {
  if (value === undefined) return null;
  const json = JSON.stringify(value);
  if (bytesOf(json) <= OUTPUT_BYTES) return json;
  throw invalid({ [`jobs.${index}.output`]: [`expected at most ${OUTPUT_BYTES} bytes of JSON`] });
}

const ClaimResponse = z.object({
  leaseSeconds: z.int().describe("A job without a heartbeat or settlement for this long is lost"),
  jobs: z.array(WorkItem),
}).meta({ id: "ClaimWorkResponse" });

const HeartbeatResponse = z.object({
  jobs: z.array(BeatAnswer),
  drain: z.boolean().describe("True: claim no further jobs here for now"),
}).meta({ id: "HeartbeatResponse" });

const SettleResponse = z.object({ jobs: z.array(WorkAnswer) }).meta({ id: "SettleWorkResponse" });

/** The program of a worker: product and version of its User-Agent. */
const programOf = ({ headers }: Request): string | null =>
  headers.get("user-agent")?.trim().slice(0, MAX_PROGRAM_CHARACTERS) || null;

/** Common members. */
const common = {
  access: inServedTenantsOrService("work:jobs"),
  quota: "reports",
  exactNumbers: true,
} as const;

/** Work of callers' own processes on jobs of declared types. */
export const workRoutes = [
  endpoint("POST /api/v1/work/claim", {
    ...common,
    id: "claimWork",
    summary: "Claim due jobs of declared types, and wait for some if none is due",
    body: ClaimRequest,
    service: "stream",
    answers: { 200: { description: "The claimed jobs; none after the wait", schema: ClaimResponse } },
    problems: ["JOB_TYPE_UNKNOWN"],
    run: async ({ platform, caller, body, call }) =>
      ok({
        leaseSeconds: platform.config.JOB_LEASE_SECONDS,
        jobs: await claimWork(platform, caller, { ...body, program: programOf(call.request) }, {
          gone: call.request.signal,
          renew: async () => common.access.admit(await callerOf(platform, call)),
        }),
      }),
  }),
  endpoint("POST /api/v1/work/heartbeat", {
    ...common,
    id: "heartbeatWork",
    summary: "Renew the leases of claimed jobs, and report progress and log lines",
    body: HeartbeatRequest,
    bodyLimit: BODY_BYTES,
    answers: { 200: { description: "The state of each attempt", schema: HeartbeatResponse } },
    async run({ platform, db, caller, body }) {
      const jobs = await renewWork(platform, caller, body.jobs);
      const held = jobs.filter(({ state }) => state !== "lost").map(({ jobId }) => jobId);
      return ok({ jobs, drain: platform.stopping.aborted || await isAnyPaused(db, held) });
    },
  }),
  endpoint("POST /api/v1/work/settle", {
    ...common,
    id: "settleWork",
    summary: "Settle attempts of claimed jobs",
    body: SettleRequest,
    bodyLimit: BODY_BYTES,
    answers: { 200: { description: "What became of each result", schema: SettleResponse } },
    async run({ platform, caller, body, call }) {
      const { jobs } = call.exactBody() as typeof body | null ?? body;
      const results = body.jobs.map((job, index) => ({
        ...job,
        output: outputOf(jobs[index]?.output, index),
      }));
      return ok({ jobs: await settleWork(platform, caller, results) });
    },
  }),
] as const;
