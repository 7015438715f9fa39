import type { AnyJobType } from "../jobs/job_type.ts";
import { passwordResetMailJob } from "./password_reset.ts";
import { pruneSignInJob } from "./pruning.ts";

/** Job types of the auth area. */
export const authJobTypes: AnyJobType[] = [
  passwordResetMailJob,
  pruneSignInJob,
];
