import { until } from "./until.ts";

/**
 * Reads the metrics page of a service until it has the database's metrics. A page leaves them out if the database does not
 * answer within two seconds, as on a busy machine.
 */
export const wholeMetricsPage = (url: string, headers: Record<string, string> = {}): Promise<string> =>
  until(
    async () => await (await fetch(`${url}/metrics`, { headers })).text(),
    (page) => /^steward_database_metrics 1$/m.test(page),
    { what: "a page with the database's metrics" },
  );
