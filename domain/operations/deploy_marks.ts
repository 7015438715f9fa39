import { HOUR_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { VERSION } from "../../infra/version.ts";
import { recordAudit } from "../audit/audit.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import type { JobReach } from "../jobs/reach.ts";
import { KEPT, readAllTypeStats, ShownStatistics } from "../jobs/statistics/type_statistics.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { readPage } from "../shared/lists.ts";
import { time } from "../shared/shapes.ts";

export const DeployMark = z.object({
  id: z.guid(),
  label: z.string(),
  at: time,
  version: z.string().nullable().describe(
    "The version whose first instance made the mark when it started; null: a caller made it",
  ),
  createdBy: z.guid().nullable(),
}).meta({ id: "DeployMarkDto" });
type DeployMark = z.output<typeof DeployMark>;

const Span = z.object({ from: time, to: time });

/** Attempts of each job type before and after a mark. */
export const MarkComparison = z.object({
  mark: DeployMark,
  before: Span,
  after: Span,
  types: z.array(z.object({
    jobTypeName: z.string(),
    before: ShownStatistics.nullable(),
    after: ShownStatistics.nullable(),
  })).describe("By name; null: no attempt ended in this time"),
}).meta({ id: "DeployMarkComparisonDto" });
type MarkComparison = z.output<typeof MarkComparison>;

type MarkPlatform = Pick<JobPlatform, "sql" | "clock">;

/** Minutes are compared only while at least half an hour of them is kept before the mark. */
const BY_MINUTE_MS = 1.5 * HOUR_MS;

/** Marks a time, by default now, such as that of a deploy. */
export async function createMark(
  p: MarkPlatform,
  caller: Caller,
  { label, at = p.clock.now() }: { label: string; at?: Date | undefined },
): Promise<DeployMark> {
  const mark = { id: newId(), label, at, version: null, createdBy: caller.userId };
  await transact(p.sql, async (tx) => {
    await tx`
      insert into deploy_marks (id, label, at, created_by) values (${mark.id}, ${label}, ${at}, ${caller.userId})`;
    await recordAudit(tx, caller, "deployMark.create", mark.id, { after: { label, at } });
  });
  return mark;
}

/** Marks the start of the first instance with the version of this program. Later starts change nothing. */
export async function markVersion({ sql, clock }: MarkPlatform): Promise<void> {
  await sql`
    insert into deploy_marks (id, label, at, version)
    values (${newId()}, ${`Steward ${VERSION}`}, ${clock.now()}, ${VERSION})
    on conflict on constraint deploy_marks_version_unique do nothing`;
}

/** A page of the marks, newest first. */
export const listMarks = (q: Sql, page: PageRequest): Promise<PagedResult<DeployMark>> =>
  readPage<DeployMark>(
    q,
    {
      columns: q`id, label, at, version, created_by`,
      from: q`deploy_marks`,
      order: q`order by at desc, id desc`,
    },
    page,
  );

/**
 * Compares the hours before a mark with those after it. The hour of the mark is left out, or while the mark is young its
 * minute: in it, old and new instances run.
 * @throws DEPLOY_MARK_NOT_FOUND
 */
export async function compareMark(
  p: MarkPlatform,
  reach: JobReach,
  { id, hours }: { id: string; hours: number },
): Promise<MarkComparison> {
  const [mark] = await p.sql<DeployMark[]>`
    select id, label, at, version, created_by from deploy_marks where id = ${id}`;
  if (!mark) throw problem("DEPLOY_MARK_NOT_FOUND", `There is no mark ${id}.`);
  const now = p.clock.now().getTime();
  const grain = now - mark.at.getTime() < BY_MINUTE_MS ? "minute" : "hour";
  const { lengthMs, keptMs } = KEPT[grain];
  const start = Math.floor(mark.at.getTime() / lengthMs) * lengthMs;
  const end = Math.min(start + lengthMs, now);
  const before = {
    from: new Date(Math.max(start - hours * HOUR_MS, Math.min(start, now - keptMs))),
    to: new Date(start),
  };
  const after = { from: new Date(end), to: new Date(Math.min(end + hours * HOUR_MS, now)) };
  const [old, young] = await Promise.all(
    [before, after].map((span) => readAllTypeStats(p.sql, reach, { grain, ...span })),
  );
  const names = new Set([...old?.keys() ?? [], ...young?.keys() ?? []]);
  const types = [...names].sort().map((jobTypeName) => ({
    jobTypeName,
    before: old?.get(jobTypeName) ?? null,
    after: young?.get(jobTypeName) ?? null,
  }));
  return { mark, before, after, types };
}
