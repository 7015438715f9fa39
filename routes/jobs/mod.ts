import type { Caller } from "../../domain/rights/caller.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { maskSecrets } from "../../domain/jobs/types/masking.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deadLetterRoutes } from "./dead_letter_jobs.ts";
import { jobTypeRoutes, pauseRoutes } from "./job_types.ts";
import { jobRoutes } from "./jobs.ts";
import { recurringJobRoutes } from "./recurring_jobs.ts";
import { workRoutes } from "./work.ts";

/** A route whose answer masks the arguments that a job type declares secret. */
const masked = <E extends Endpoint>(spec: E): E => ({
  ...spec,
  async run(input: Parameters<E["run"]>[0]) {
    const answer = await spec.run(input);
    const reach = jobReach(input.caller as Caller);
    const tenantId = reach.everything ? undefined : reach.tenantId;
    return { ...answer, body: await maskSecrets(input.platform, tenantId, answer.body) };
  },
});

/** Every route of the jobs area. Workers get the arguments of their jobs as they are. */
export const jobsRoutes = [
  ...[...jobRoutes, ...recurringJobRoutes, ...deadLetterRoutes, ...jobTypeRoutes, ...pauseRoutes].map(masked),
  ...workRoutes,
];
