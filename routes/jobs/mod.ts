import { withoutSecrets } from "../../domain/jobs/secret_args.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deadLetterRoutes } from "./dead_letter_jobs.ts";
import { jobRoutes } from "./jobs.ts";
import { recurringJobRoutes } from "./recurring_jobs.ts";

/** Every route of the jobs area. All of them mask the arguments that a job type declares secret. */
export const jobsRoutes: Endpoint[] = [...jobRoutes, ...recurringJobRoutes, ...deadLetterRoutes].map((
  spec,
) => ({
  ...spec,
  async run(input) {
    const answer = await spec.run(input);
    return { ...answer, body: withoutSecrets((name) => input.platform.jobTypes.get(name), answer.body) };
  },
}));
