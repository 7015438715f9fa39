import type { JobFilters } from "../../domain/jobs/lists/job_filters.ts";
import { type JobPriority, PRIORITIES } from "../../domain/jobs/job_row.ts";
import type { JobPlatform } from "../../domain/jobs/platform.ts";
import { findJobTypes } from "../../domain/jobs/types/find_job_types.ts";
import { MAX_SEARCHABLE, SEARCH_VALUE_LENGTH, searchablePaths } from "../../domain/jobs/searchable_args.ts";
import { invalid } from "../../domain/problems/problem.ts";
import { requireStorableText } from "../../domain/shared/storable.ts";

/** Description of the filters by arguments for the API document, which cannot contain names with a variable part. */
export const BY_ARGUMENTS =
  "`args.PATH=VALUE` filters by an argument that its job type marks as searchable, such as `args.invoiceId=4711`. " +
  "Several such filters must all match. The value is compared exactly.";

/** Header with the time from which on errors were searched; none if all were. */
export const searchedFromHeader = (o: { searchedFrom: Date | null }): Record<string, string> =>
  o.searchedFrom ? { "steward-searched-from": o.searchedFrom.toISOString() } : {};

const PREFIX = "args.";

type Given = Omit<JobFilters, "priority" | "withoutTypes" | "args"> & {
  priority?: JobPriority | undefined;
  hideInternal: boolean;
};

/**
 * The filters of a query, as the domain takes them. Other members of the query are kept.
 * @throws VALIDATION_ERROR for an argument that the job type does not mark as searchable
 */
export async function filtersOf<Q extends Given>(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  tenantId: string | null,
  url: URL,
  query: Q,
) {
  const { priority, hideInternal, ...others } = query;
  const args = readArgsFilter(url.searchParams);
  if (args && query.jobTypeName) await requireSearchable(p, tenantId, query.jobTypeName, Object.keys(args));
  return {
    ...others,
    args,
    priority: priority && PRIORITIES.indexOf(priority),
    withoutTypes: hideInternal ? p.jobTypes.internalNames() : undefined,
  };
}

/** The values of `args.…` by path; undefined if there are none. Empty values count as absent, as everywhere. */
function readArgsFilter(search: URLSearchParams): Record<string, string> | undefined {
  const given = [...search].filter(([name, value]) => name.startsWith(PREFIX) && value !== "");
  if (given.length === 0) return undefined;
  if (given.length > MAX_SEARCHABLE) {
    throw invalid({ args: [`expected at most ${MAX_SEARCHABLE} arguments`] });
  }
  for (const [name, value] of given) {
    requireStorableText(name, name);
    requireStorableText(value, name);
    const isLong = value.length > SEARCH_VALUE_LENGTH || name.length > SEARCH_VALUE_LENGTH;
    if (isLong || name === PREFIX) {
      throw invalid({ [name]: [`expected a path and a value of at most ${SEARCH_VALUE_LENGTH} characters`] });
    }
  }
  const args = Object.fromEntries(given.map(([name, value]) => [name.slice(PREFIX.length), value]));
  if (Object.keys(args).length < given.length) throw invalid({ args: ["expected each argument once"] });
  return args;
}

async function requireSearchable(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  tenantId: string | null,
  jobTypeName: string,
  paths: string[],
): Promise<void> {
  const type = (await findJobTypes(p, tenantId, [jobTypeName])).get(jobTypeName);
  const searchable = type && searchablePaths(type);
  const unmarked = searchable && paths.find((path) => !searchable.includes(path));
  if (unmarked === undefined) return;
  const expected = searchable?.length ? `expected one of ${searchable.join(", ")}` : "it marks none";
  throw invalid({
    [`${PREFIX}${unmarked}`]: [`not an argument that ${jobTypeName} marks as searchable; ${expected}`],
  });
}
