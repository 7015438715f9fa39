import { withoutSecrets } from "../../domain/jobs/secret_args.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deadLetterRoutes } from "./dead_letter_jobs.ts";
import { jobRoutes } from "./jobs.ts";
import { recurringJobRoutes } from "./recurring_jobs.ts";

/** A route whose answer masks the arguments that a job type declares secret. */
const masked = <E extends Endpoint>(spec: E): E => ({
  ...spec,
  async run(input: Parameters<E["run"]>[0]) {
    const answer = await spec.run(input);
    return { ...answer, body: withoutSecrets((name) => input.platform.jobTypes.get(name), answer.body) };
  },
});

/** Every route of the jobs area. */
export const jobsRoutes = [...jobRoutes, ...recurringJobRoutes, ...deadLetterRoutes].map(masked);
