import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import {
  DeadLetterFilter,
  DeadLetterGroup,
  discardDeadLetter,
  listDeadLetterGroups,
  purgeDeadLetters,
  retryDeadLetters,
} from "../../domain/jobs/control/dead_letter_groups.ts";
import {
  DeadLetter,
  deadLetterVersion,
  findFirstSearched,
  listDeadLetters,
  readDeadLetter,
} from "../../domain/jobs/lists/dead_letter_list.ts";
import { retryDeadLetter } from "../../domain/jobs/control/dead_letters.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { timeOfId } from "../../domain/shared/ids.ts";
import { JobSummary } from "../../domain/jobs/job_row.ts";
import { noContentAfter, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { orNull, uuid, withDefault } from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryBoolean, queryInstant } from "../shared/validation.ts";
import { searchedFromHeader } from "./filters.ts";
import { ofTenant, requireKnownArgs } from "./shapes.ts";
import { invalid } from "../../domain/problems/problem.ts";
import type { Call } from "../shared/call.ts";

const isAbsent = (value: unknown) => value === undefined || value === null;

const RetryRequest = z.object({
  args: z.unknown().optional().describe("The arguments as JSON"),
  serializedArgs: z.string().nullish().describe("The arguments as a string that holds JSON"),
}).refine(
  ({ args, serializedArgs }) => isAbsent(args) || isAbsent(serializedArgs),
  { path: ["args"], error: "expected either args or serializedArgs, not both" },
).meta({
  id: "RetryJobRequest",
  description: "Without members the job keeps its arguments. A secret given as *** keeps what is stored.",
});

/** The common members of routes that enqueue an ended job again, with the same or other arguments. */
export const retrying = {
  body: RetryRequest,
  exactNumbers: true,
  bodyOptional: true,
  creates: "atomically",
  answers: { 200: { description: "The new job", schema: JobSummary } },
} as const;
/** The refusals of the job that such a route enqueues. */
export const RETRY_REFUSALS = ["JOB_DUPLICATE_CONFLICT", "JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"] as const;

/** The given arguments as JSON text; null: none. */
export function givenArgs(body: z.output<typeof RetryRequest>, call: Call): string | null {
  if (isAbsent(body.args)) return body.serializedArgs ?? null;
  const exact = call.exactBody() as typeof body | null;
  return JSON.stringify(exact?.args ?? body.args);
}

const FILTERS = DeadLetterFilter.keyof().options;
const all = z.boolean().nullish();
const dryRun = withDefault(z.boolean(), false).describe("Only counts");

const NO_FILTER = `expected one of ${FILTERS.join(", ")}, or all: true`;

const RetryManyRequest = DeadLetterFilter.extend({
  all: all.describe("Required if no filter is given"),
  dryRun,
}).refine(
  (body) => body.all || FILTERS.some((name) => body[name] !== null),
  { path: ["all"], error: NO_FILTER },
).meta({ id: "RetryDeadLettersRequest", description: "Needs a filter, or all: true" });

const RetryManyResponse = z.object({
  matched: z.int(),
  retried: z.int(),
  dryRun: z.boolean(),
  jobIds: z.array(z.guid()).describe("Ids of the first 100 new jobs"),
}).meta({ id: "RetryDeadLettersResponse" });

const PurgeRequest = z.object({
  retentionDays: orNull(z.number().min(0).refine(Number.isInteger, "expected an integer")).meta({
    type: ["integer", "null"],
    minimum: 0,
    description: "Only dead letters that failed more than this number of days ago",
  }),
  ...DeadLetterFilter.shape,
  expectedCount: orNull(z.int().min(0)).describe(
    "The number that must match; otherwise 409 and nothing is deleted",
  ),
  all,
  dryRun,
}).meta({
  id: "PurgeDeadLettersRequest",
  description:
    "Without an age and a filter, purges all; null counts as absent. A filter matches only dead letters that were not " +
    "retried, like the groups. If it has an unknown member, only `all: true` purges all.",
});

const PurgeResponse = z.object({
  purged: z.int(),
  matched: z.int().optional().describe("Only for a dry run"),
}).meta({ id: "PurgeDeadLettersResponse" });

/**
 * Reads which dead letters a purge selects.
 * @param hasUnknown true if the body has unknown members: a misspelled filter must not purge everything
 * @throws VALIDATION_ERROR when the body selects nothing, but has an unknown member or `all: false`
 */
function readPurge(body: z.output<typeof PurgeRequest>, hasUnknown: boolean) {
  const { retentionDays, expectedCount, dryRun, all, ...filter } = body;
  const isFiltered = Object.values(filter).some((value) => value !== null);
  if (!isFiltered && retentionDays === null && (all ?? !hasUnknown) === false) {
    throw invalid({ all: [NO_FILTER] });
  }
  return { retentionDays, expectedCount, dryRun, filter: isFiltered ? filter : null };
}

const endpoint = endpointsIn("Jobs");

const access = inTenantOrService();
/** Common members of the routes of one dead letter. */
const ofOne = { access, params: z.object({ id: uuid }) } as const;

/** Dead letters: jobs that used up their retries. */
export const deadLetterRoutes = [
  endpoint("GET /api/v1/dead-letter-jobs", {
    id: "listDeadLetters",
    summary: "List dead letters, newest first",
    access,
    query: z.object({
      ...pageQuery(),
      ...ofTenant,
      jobTypeName: z.string().max(200).optional(),
      errorPattern: z.string().max(600).optional().describe("The errorPattern of a group"),
      errorContains: z.string().max(500).optional().describe(
        "Part of the error, in any letter case. Without `failedFrom`, only the last 5,000 dead letters are " +
          "searched. If there are that many, the header `Steward-Searched-From` has the time of the first one that was " +
          "searched",
      ),
      failedFrom: queryInstant.optional(),
      failedTo: queryInstant.optional(),
      isRetried: queryBoolean.optional(),
    }),
    answers: { 200: { description: "A page of dead letters", schema: pagedResultOf(DeadLetter) } },
    async run({ db, caller, query }) {
      const reach = jobReach(caller, query.tenantId);
      const firstId = await findFirstSearched(db, reach, query) ?? undefined;
      const page = await listDeadLetters(db, reach, { ...query, firstId });
      return ok(page, searchedFromHeader({ searchedFrom: firstId ? timeOfId(firstId) : null }));
    },
  }),
  endpoint("GET /api/v1/dead-letter-jobs/groups", {
    id: "listDeadLetterGroups",
    summary: "List dead letters that were not retried, grouped by job type and error, largest group first",
    access,
    query: z.object({ ...pageQuery(), ...ofTenant }),
    answers: { 200: { description: "A page of groups", schema: pagedResultOf(DeadLetterGroup) } },
    run: async ({ db, caller, query }) =>
      ok(await listDeadLetterGroups(db, jobReach(caller, query.tenantId), query)),
  }),
  endpoint("GET /api/v1/dead-letter-jobs/{id}", {
    id: "readDeadLetter",
    summary: "Read a dead letter",
    ...ofOne,
    answers: { 200: { description: "The dead letter", schema: DeadLetter, etag: true } },
    problems: ["JOB_DEADLETTER_NOT_FOUND"],
    async run({ db, caller, params }) {
      const deadLetter = await readDeadLetter(db, jobReach(caller), params.id);
      return okVersioned(deadLetter, deadLetterVersion(deadLetter));
    },
  }),
  endpoint("DELETE /api/v1/dead-letter-jobs/{id}", {
    id: "discardDeadLetter",
    summary: "Delete a dead letter that was not retried; its job stays until its retention ends",
    ...ofOne,
    answers: { 204: { description: "Deleted" } },
    problems: ["JOB_DEADLETTER_NOT_FOUND", "PRECONDITION_FAILED", "JOB_DEADLETTER_ALREADY_RETRIED"],
    run: ({ db, caller, params, call }) =>
      noContentAfter(discardDeadLetter(db, caller, params.id, call.ifMatch)),
  }),
  endpoint("POST /api/v1/dead-letter-jobs/retry", {
    id: "retryDeadLetters",
    summary: "Retry all matching dead letters",
    access,
    query: z.object(ofTenant),
    body: RetryManyRequest,
    bodyOptional: true,
    creates: "atomically",
    answers: {
      200: { description: "Number of matching and of retried dead letters", schema: RetryManyResponse },
    },
    async run({ platform, caller, query, body: { dryRun, all: _, ...filter } }) {
      const reach = jobReach(caller, query.tenantId);
      return ok(await retryDeadLetters(platform, caller, { filter, reach, dryRun }));
    },
  }),
  endpoint("POST /api/v1/dead-letter-jobs/purge", {
    id: "purgeDeadLetters",
    summary: "Delete dead letters: by age, by filter, or all",
    details:
      "With `expectedCount`, deletes only if exactly that many match; `dryRun` answers the number. An empty body deletes " +
      "all, also those that were retried.",
    access,
    query: z.object(ofTenant),
    body: PurgeRequest,
    bodyOptional: true,
    answers: { 200: { description: "Number of deleted dead letters", schema: PurgeResponse } },
    problems: ["JOB_DEADLETTER_COUNT_CONFLICT"],
    async run({ db, caller, query, body, call }) {
      const hasUnknown = call.givenMembers().some((name) => !Object.hasOwn(PurgeRequest.shape, name));
      const reach = jobReach(caller, query.tenantId);
      return ok(await purgeDeadLetters(db, caller, { ...readPurge(body, hasUnknown), reach }));
    },
  }),
  endpoint("POST /api/v1/dead-letter-jobs/{id}/retry", {
    id: "retryDeadLetter",
    summary: "Enqueue the job of a dead letter again, with the same or other arguments",
    ...ofOne,
    ...retrying,
    problems: ["JOB_DEADLETTER_NOT_FOUND", "JOB_DEADLETTER_ALREADY_RETRIED", ...RETRY_REFUSALS],
    async run({ platform, db, caller, params, body, call }) {
      const serializedArgs = givenArgs(body, call);
      if (serializedArgs !== null) {
        const { jobTypeName } = await readDeadLetter(db, jobReach(caller), params.id);
        requireKnownArgs(platform, call, { jobTypeName, serializedArgs });
      }
      return ok(await retryDeadLetter(platform, caller, params.id, serializedArgs));
    },
  }),
] as const;
