import {
  requireExposedType,
  requireFittingArgs,
  requireJson,
  requireMayEnqueue,
} from "./enqueue_requested.ts";
import type { AnyJobType } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import type { JobActor } from "../reach.ts";
import { findJobTypes } from "../types/find_job_types.ts";
import { keepSecrets } from "../types/secret_args.ts";

/**
 * The arguments after a change: `***` keeps the secret stored at the same place.
 * @param type undefined if it was deleted; it may be declared again
 * @param mask what is secret
 * @throws VALIDATION_ERROR when they are not JSON, nested too deep, do not fit the type, or a secret was stored for another receiver
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

/**
 * The arguments of a job that runs again with other arguments; null if `given` changes nothing.
 * @param given JSON; null keeps the stored arguments
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (a program, but only users may enqueue the type),
 * VALIDATION_ERROR, all only if `given` is not null
 */
export async function argsOfRetry(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  caller: JobActor,
  job: { tenantId: string | null; jobTypeName: string; serializedArgs: string },
  given: string | null,
): Promise<string | null> {
  if (given === null) return null;
  const types = await findJobTypes(p, job.tenantId, [job.jobTypeName]);
  const type = requireExposedType(p.jobTypes, types, job.jobTypeName);
  const args = changedArgs(type, given, job.serializedArgs);
  if (args === job.serializedArgs) return null;
  requireMayEnqueue(type, caller);
  return args;
}
