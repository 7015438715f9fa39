import { z } from "zod";
import { invalid } from "../../domain/problems/problem.ts";
import type { Call } from "../shared/call.ts";
import { instant } from "../../domain/shared/shapes.ts";

const isAbsent = (value: unknown) => value === undefined || value === null;

export const RetryRequest = z.object({
  args: z.unknown().optional().meta({ description: "The arguments as JSON" }),
  serializedArgs: z.string().nullish().meta({ description: "The arguments as a string that holds JSON" }),
}).refine(
  ({ args, serializedArgs }) => isAbsent(args) || isAbsent(serializedArgs),
  { path: ["args"], error: "expected either args or serializedArgs, not both" },
).meta({
  id: "RetryJobRequest",
  description: "Without members the job keeps its arguments. A secret given as *** keeps what is stored.",
});

/** The given arguments as JSON text; null: none. */
export function givenArgs(body: z.output<typeof RetryRequest>, call: Call): string | null {
  if (isAbsent(body.args)) return body.serializedArgs ?? null;
  const exact = call.exactBody() as typeof body | null;
  return JSON.stringify(exact?.args ?? body.args);
}

const orNull = <S extends z.ZodType>(schema: S) =>
  schema.nullish().transform((value) => (value ?? null) as z.output<S> | null);
const filters = {
  jobTypeName: z.string().max(200),
  errorPattern: z.string().max(600), // 300 characters of at most two UTF-16 code units each
  errorContains: z.string().min(1).max(500),
  failedFrom: instant,
  failedTo: instant,
};
const FILTERS = Object.keys(filters) as (keyof typeof filters)[];
const all = z.boolean().nullish();
const dryRun = z.boolean().nullish().transform((value) => value ?? false).meta({
  description: "Only counts",
});

const NO_FILTER = `expected one of ${FILTERS.join(", ")}, or all: true`;

export const RetryManyRequest = z.object({
  jobTypeName: orNull(filters.jobTypeName),
  errorPattern: orNull(filters.errorPattern),
  errorContains: orNull(filters.errorContains),
  failedFrom: orNull(filters.failedFrom),
  failedTo: orNull(filters.failedTo),
  all: all.meta({ description: "Required if no filter is given" }),
  dryRun,
}).refine(
  (body) => body.all || FILTERS.some((name) => body[name] !== null),
  { path: ["all"], error: NO_FILTER },
).meta({ id: "RetryDeadLettersRequest", description: "Needs a filter, or all: true" });

export const RetryManyResponse = z.object({
  matched: z.int(),
  retried: z.int(),
  dryRun: z.boolean(),
  jobIds: z.array(z.guid()).meta({ description: "Ids of the first 100 new jobs" }),
}).meta({ id: "RetryDeadLettersResponse" });

export const PurgeRequest = z.object({
  retentionDays: z.number().min(0).refine(Number.isInteger, "expected an integer").nullish().meta({
    type: ["integer", "null"],
    minimum: 0,
    description: "Only dead letters that failed more than this number of days ago",
  }),
  jobTypeName: filters.jobTypeName.nullish(),
  errorPattern: filters.errorPattern.nullish(),
  errorContains: filters.errorContains.nullish(),
  failedFrom: filters.failedFrom.nullish(),
  failedTo: filters.failedTo.nullish(),
  expectedCount: z.int().min(0).nullish().meta({
    description: "The number that must match; otherwise 409 and nothing is deleted",
  }),
  all,
  dryRun,
}).meta({
  id: "PurgeDeadLettersRequest",
  description:
    "Without an age and a filter, purges all; null counts as absent. A filter matches only dead letters that were not " +
    "retried, like the groups. If it has an unknown member, only `all: true` purges all.",
});

export const PurgeResponse = z.object({
  purged: z.int(),
  matched: z.int().optional().meta({ description: "Only for a dry run" }),
}).meta({ id: "PurgeDeadLettersResponse" });

/**
 * Reads which dead letters a purge selects.
 * @param hasUnknown true if the body has unknown members: a misspelled filter must not purge everything
 * @throws VALIDATION_ERROR when the body selects nothing, but has an unknown member or `all: false`
 */
export function readPurge(body: z.output<typeof PurgeRequest>, hasUnknown: boolean) {
  const { retentionDays, expectedCount, dryRun, all, ...filters } = body;
  const isFiltered = Object.values(filters).some((value) => !isAbsent(value));
  if (!isFiltered && isAbsent(retentionDays) && (all ?? !hasUnknown) === false) {
    throw invalid({ all: [NO_FILTER] });
  }
  const { jobTypeName, errorPattern, errorContains, failedFrom, failedTo } = filters;
  return {
    retentionDays: retentionDays ?? null,
    expectedCount: expectedCount ?? null,
    dryRun,
    filter: !isFiltered ? null : {
      jobTypeName: jobTypeName ?? null,
      errorPattern: errorPattern ?? null,
      errorContains: errorContains ?? null,
      failedFrom: failedFrom ?? null,
      failedTo: failedTo ?? null,
    },
  };
}
