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
