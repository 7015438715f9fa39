import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { AFTER_LANES, type JobStatus, LANE_QUEUE, laneName, remoteKey } from "../job_row.ts";
import { Pause, readPauses } from "../limits/pauses.ts";
import type { JobPlatform } from "../platform.ts";
import { countScope, type JobReach, within } from "../reach.ts";
import { readUsableNames, readUsableTypes } from "../types/declared_types.ts";
import { time } from "../../shared/shapes.ts";
import type { AnyJobType } from "../job_type.ts";
import { ShownRateLimit } from "../types/find_job_types.ts";
import { MARK, searchablePaths } from "../searchable_args.ts";

/** Up to this many waiting jobs are all read. Of more, the first one of each lane and priority is. */
const MAX_READ = 20_000;

/** Number of jobs in one queue that have not ended. */
export const QueueDepth = z.object({
  queue: z.string(),
  // Due now.
  waiting: z.int(),
  processing: z.int(),
  scheduled: z.int(),
  // Failed, and waiting for the next attempt.
  retrying: z.int(),
  awaitingParent: z.int(),
  // Null: no job waits.
  oldestDueAt: time.nullable().describe(
    "Due time of the longest waiting job; jobs that wait for a rate limit do not count",
  ),
  // Null: its jobs start.
  pause: Pause.nullable(),
}).meta({ id: "JobQueueDto" });
export type QueueDepth = z.output<typeof QueueDepth>;

/**
 * The queues that are paused or have unfinished jobs, by name. Depths come from the counters.
 * @param tenantId the tenant context of a caller who reaches everything: the pauses of that tenant are shown too
 */
export async function readQueues(
  p: QueuePlatform,
  reach: JobReach,
  tenantId: string | null = null,
): Promise<QueueDepth[]> {
  const [counts, pauses] = await Promise.all([
    p.sql<QueueCount[]>`
      select queue, status, sum(n)::bigint as n from (
        select queue, status, n from job_counts where scope = ${countScope(reach)}
        union all
        select queue, status, n from job_count_deltas where ${within(p.sql, reach)}
      ) counted where status not in ('Succeeded', 'DeadLettered', 'Cancelled')
      group by 1, 2 having sum(n) > 0 order by 1`,
    readPauses(p.sql, reach.everything ? tenantId : reach.tenantId, "queue"),
  ]);
  const byQueue = Map.groupBy(counts, ({ queue }) => queue);
  const queues = [...new Set([...byQueue.keys(), ...pauses.keys()])].sort();
  const oldest = await readOldest(p, reach, counts.filter(({ status }) => status === "Enqueued"));
  return queues.map((queue) => {
    const of = (status: JobStatus) => byQueue.get(queue)?.find((row) => row.status === status)?.n ?? 0;
    return {
      queue,
      waiting: of("Enqueued"),
      processing: of("Processing"),
      scheduled: of("Scheduled"),
      retrying: of("Failed"),
      awaitingParent: of("AwaitingParent"),
      oldestDueAt: oldest.get(queue) ?? null,
      pause: pauses.get(queue) ?? null,
    };
  });
}

type QueuePlatform = Pick<JobPlatform, "sql" | "jobTypes">;
type QueueCount = { queue: string; status: JobStatus; n: number };
type Condition = ReturnType<typeof within>;

/** The earliest due time of the waiting jobs, by queue. */
async function readOldest(
  p: QueuePlatform,
  reach: JobReach,
  waiting: QueueCount[],
): Promise<Map<string, Date>> {
  if (waiting.length === 0) return new Map();
  const { sql } = p;
  const lanes = reach.everything ? null : await lanesOf(p, reach.tenantId, waiting);
  const isShort = waiting.reduce((sum, { n }) => sum + n, 0) <= MAX_READ;
  const fronts = isShort
    ? sql`jobs where status = 'Enqueued' and ${lanes ? sql`lane = any(${lanes}::text[])` : allLanes(sql)}`
    : lanes
    ? frontsOf(sql, lanes)
    : allFronts(sql);
  const rows = await sql<{ queue: string; dueAt: Date }[]>`
    select ${sql.unsafe(LANE_QUEUE)} as queue, min(due_at) as due_at from ${fronts} group by 1`;
  return new Map(rows.map(({ queue, dueAt }) => [queue, dueAt]));
}

const allLanes = (q: Sql): Condition => q`lane < ${AFTER_LANES}`;

/** The lanes in which jobs of a tenant may wait: each of its queues and types may have lanes of its own. */
async function lanesOf(
  { sql, jobTypes }: QueuePlatform,
  tenantId: string,
  queues: QueueCount[],
): Promise<string[]> {
  const remote = await readUsableNames(sql, tenantId);
  const limitKeys = [null, ...jobTypes.names(), ...remote.map((name) => remoteKey(name, null))];
  return queues.flatMap(({ queue }) => limitKeys.map((limitKey) => laneName(queue, limitKey, tenantId)));
}

/** The first waiting job of each priority in some lanes: one index probe each, regardless of the length of the lane. */
const frontsOf = (q: Sql, lanes: string[]): Condition =>
  q`unnest(${lanes}::text[]) named (lane)
    cross join unnest('{0,1,2,3}'::smallint[]) ranked (priority)
    cross join lateral (
      select j.due_at from jobs j where j.status = 'Enqueued' and j.priority = ranked.priority and j.lane = named.lane
      order by j.due_at, j.id limit 1
    ) first`;

/** The first waiting job of each priority in all lanes. The search skips through the index from one to the next. */
const allFronts = (q: Sql): Condition =>
  q`(
    with recursive fronts as (
      (select lane, priority, due_at from jobs where status = 'Enqueued' and ${allLanes(q)}
        order by lane, priority, due_at limit 1)
      union all
      select following.* from fronts cross join lateral (
        select j.lane, j.priority, j.due_at from jobs j
        where j.status = 'Enqueued' and ${
    allLanes(q)
  } and (j.lane, j.priority) > (fronts.lane, fronts.priority)
        order by j.lane, j.priority, j.due_at limit 1
      ) following
    )
    select lane, due_at from fronts
  ) fronts`;

/** A job type callers may enqueue. */
export const ExposedJobType = z.object({
  name: z.string(),
  argsSchema: z.record(z.string(), z.unknown()).describe("JSON Schema of the arguments"),
  timeoutMs: z.int(),
  maxRetries: z.int(),
  // Null: no limit.
  concurrency: z.int().nullable().describe("Maximum number that run at once in the whole service"),
  rateLimit: ShownRateLimit.nullable(),
  // Null: its jobs start.
  pause: Pause.nullable(),
}).meta({ id: "JobTypeDto", description: "A job type callers may enqueue" });
export type ExposedJobType = z.output<typeof ExposedJobType>;

/**
 * The job types that callers of a tenant may enqueue, sorted by name: those of the service, and declared ones. Where JSON
 * Schema cannot express a rule, it allows any value.
 */
export async function describeJobTypes(
  { sql, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  tenantId: string | null,
): Promise<ExposedJobType[]> {
  const pauses = await readPauses(sql, tenantId, "type");
  const own = jobTypes.exposedNames().flatMap((name) => jobTypes.get(name) ?? []).map(describe);
  const declared = (await readUsableTypes(sql, tenantId)).filter(({ name }) => !jobTypes.get(name)).map(
    ({ name, argsSchema, timeoutSeconds, maxRetries, concurrency, rateLimit }): Described => ({
      name,
      argsSchema: argsSchema ?? {},
      timeoutMs: timeoutSeconds * 1000,
      maxRetries,
      concurrency,
      rateLimit,
    }),
  );
  return [...own, ...declared].sort((a, b) => a.name < b.name ? -1 : 1)
    .map((type) => ({ ...type, pause: pauses.get(type.name) ?? null }));
}

type Described = Omit<ExposedJobType, "pause">;

const described = new WeakMap<AnyJobType, Described>();

/** The description of one type. It is kept, because a JSON Schema is expensive to derive. */
function describe(type: AnyJobType): Described {
  const known = described.get(type);
  if (known) return known;
  const { name, timeoutMs, maxRetries, concurrency = null } = type;
  const rateLimit = type.rateLimit ? { key: null, ...type.rateLimit } : null;
  const argsSchema: Record<string, unknown> = {
    ...z.toJSONSchema(type.args, { io: "input", unrepresentable: "any" }),
  };
  const searchable = searchablePaths(type);
  if (searchable.length > 0) argsSchema[MARK] = searchable;
  const description = { name, argsSchema, timeoutMs, maxRetries, concurrency, rateLimit };
  described.set(type, description);
  return description;
}
