import type { FilePlatform } from "../../files/platform.ts";
import type { AnyJobType } from "../../jobs/job_type.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { importUsersJob } from "./import_job.ts";

/** Job types of imports of users. */
export const userImportJobTypes: AnyJobType<FilePlatform & RightsPlatform>[] = [importUsersJob];
