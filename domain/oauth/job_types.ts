import type { AnyJobType } from "../jobs/job_type.ts";
import { pruneAudiencesJob } from "./pruning.ts";

/** Job types of the OpenID provider. */
export const oauthJobTypes: AnyJobType[] = [pruneAudiencesJob];
