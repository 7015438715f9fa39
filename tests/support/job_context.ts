import type { EndedAttempt } from "../../domain/jobs/ended_attempt.ts";
import type { ClaimedJob } from "../../domain/jobs/engine/claim.ts";
import type { JobContext } from "../../domain/jobs/job_type.ts";
import type { ServicePlatform } from "../../domain/platform.ts";

/** The context of a job that a test runs by hand: a first attempt of a job without a tenant; `given` overrides members. */
export const jobContext = (
  platform: ServicePlatform,
  given: Partial<JobContext<ServicePlatform>> = {},
): JobContext<ServicePlatform> => ({
  platform,
  db: platform.sql,
  jobId: crypto.randomUUID(),
  tenantId: null,
  createdBy: null,
  traceId: null,
  attempt: 1,
  failures: 0,
  maxRetries: 3,
  waitsForDependencies: true,
  lostLeases: 0,
  takeWorker: () => Promise.resolve(() => {}),
  signal: new AbortController().signal,
  log: platform.log,
  progress: () => {},
  ...given,
});

/** For tests of the job engine whose job types do not use the platform. */
export const NO_PLATFORM = {} as ServicePlatform;

/** A job in its first attempt, as its worker has claimed it. */
export const claimedJob = (given: Partial<ClaimedJob> & Pick<ClaimedJob, "jobTypeName">): ClaimedJob => ({
  id: crypto.randomUUID(),
  tenantId: null,
  serializedArgs: "{}",
  attempts: 1,
  failures: 0,
  maxRetries: 0,
  createdBy: null,
  traceId: null,
  outageMs: null,
  lostLeases: 0,
  waitedMs: 0,
  ...given,
});

/** A first attempt that has ended. */
export const endedAttempt = (
  given: Partial<EndedAttempt> & Pick<EndedAttempt, "jobTypeName" | "outcome">,
): EndedAttempt => ({
  jobId: crypto.randomUUID(),
  tenantId: null,
  attempt: 1,
  traceId: null,
  error: null,
  waitedMs: 0,
  durationMs: 0,
  ...given,
});
