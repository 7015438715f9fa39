import { searchOf } from "../shared/api.ts";

/** The list of jobs with filters, the service's own jobs included, because the overview counts them too. */
export const allJobs = (filters: Record<string, string | null>): string =>
  `jobs${searchOf({ internal: "shown", ...filters })}`;
