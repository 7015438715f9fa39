import type { AnyJobType } from "../jobs/job_type.ts";
import { announceAccessJob } from "./access_change_job.ts";
import { emailChangeMailJob } from "./account/email_change.ts";
import { passwordResetMailJob } from "./account/password_reset.ts";
import type { AccessPlatform } from "./platform.ts";
import { announceRolesJob } from "./roles/default_role_job.ts";
import { pruneSignInJob } from "./pruning.ts";

/** Job types of the access area. */
export const accessJobTypes: AnyJobType<AccessPlatform>[] = [
  announceAccessJob,
  announceRolesJob,
  emailChangeMailJob,
  passwordResetMailJob,
  pruneSignInJob,
];
