import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { type ScannerStatus, ScanUnavailable } from "../../infra/scanner/scanner.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { GIVEN_UP, type ScanJob, scanWithCrashGuard } from "./crashed_scan.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { FilePlatform } from "./platform.ts";
import { rescanFile, type RescanOutcome, skipFile } from "./rescan_file.ts";
import { generationOf } from "./rescan_generation.ts";
import { SCAN_TIMEOUT_MS } from "./scan.ts";

/**
 * Files per batch job. They are scanned one after another, so that first scans get the rest of the engine's capacity.
 */
const BATCH = 100;
/**
 * A batch stops after this time. The next batch takes the remaining files, so that other waiting jobs run in between.
 */
const BATCH_MS = 4 * 60_000;
/** A walk over the outdated files that reports no progress for this time has lost its job. Then a new walk may start. */
const WALK_EXPIRY_MS = SCAN_TIMEOUT_MS + 15 * 60_000;
/** Pause of a walk while the engine does not answer or has other signatures. */
const PAUSE_WITHOUT_ENGINE_MS = 60_000;
/** Pause before files that gave an error are scanned again. */
const PAUSE_AFTER_ERRORS_MS = 60 * 60_000;

const BatchArgs = z.object({
  generation: z.int(),
  batch: z.int(),
  /** The last file of the previous batch; null in the first batch of a walk. */
  after: z.object({ generation: z.int(), fileId: z.guid() }).nullable(),
  /** Number of files of this walk that gave an error so far. */
  errors: z.int(),
});
type BatchArgs = z.infer<typeof BatchArgs>;

/** The jobs that scan Available files again with newer signatures: a check every minute, and the batches of a walk. */
export const rescanJob = defineJob({
  name: "files.rescan-outdated",
  args: z.object({}),
  cron: "* * * * *",
  maxRetries: 0, // the check runs again in the next minute
  run: async (_args, { platform }: JobContext<FilePlatform>) => ({ rescan: await startRescan(platform) }),
});

export const rescanBatchJob = defineJob({
  name: "files.rescan-batch",
  args: BatchArgs,
  timeoutMs: SCAN_TIMEOUT_MS,
  concurrency: 1,
  run: (args, job: JobContext<FilePlatform>) => rescanBatch(job.platform, args, job),
});

/**
 * Starts a walk over the files whose last scan used older signatures than the engine has now, unless a walk is running.
 * If several instances call this at once, one of them starts it.
 */
export async function startRescan(
  p: Platform,
): Promise<"engine unavailable" | "nothing outdated" | "already running" | "started"> {
  const files = await p.sql`select from files where status = 'Available' limit 1`;
  if (files.length === 0) return "nothing outdated"; // a request for its status would load the embedded engine
  const engine = await askEngine(p);
  if (!engine) return "engine unavailable";
  const generation = await generationOf(p.sql, engine);
  return await transact(p.sql, async (tx) => {
    const outdated = await tx`select from files where status = 'Available' and scan_generation < ${generation}
      order by scan_generation, id limit 1`;
    if (outdated.length === 0) return "nothing outdated";
    const now = p.clock.now();
    const [walk] = await tx<{ walkBatch: number }[]>`
      update scan_generations set walk_until = ${timeAfter(now, WALK_EXPIRY_MS)}, walk_batch = walk_batch + 1
      where id = ${generation} and (walk_until is null or walk_until <= ${now}) returning walk_batch`;
    if (!walk) return "already running";
    const first = { generation, batch: walk.walkBatch, after: null, errors: 0 };
    await enqueueJob(p, tx, rescanBatchJob, first, { priority: "Low" });
    return "started";
  });
}

interface OutdatedFile {
  id: string;
  scanGeneration: number;
}

/**
 * Scans one batch and enqueues the next. A clean file gets the new generation, so a batch that runs again after a crash
 * continues where it stopped. Files that gave an error are skipped until the next walk.
 * @returns the number of files by outcome, or the reason why nothing was scanned
 * @throws PostponeJob as `scanWithCrashGuard`
 */
export async function rescanBatch(
  p: FilePlatform,
  args: BatchArgs,
  job: ScanJob,
): Promise<Partial<Record<RescanOutcome, number>> | string> {
  const { generation, after } = args;
  if (!await setWalk(p, args, { untilMs: WALK_EXPIRY_MS })) return "superseded";
  const engine = await askEngine(p);
  if (!engine || await generationOf(p.sql, engine) !== generation) {
    await setWalk(p, args, { untilMs: PAUSE_WITHOUT_ENGINE_MS });
    return "the engine is unavailable or has other signatures";
  }
  const files = await p.sql<OutdatedFile[]>`
    select id, scan_generation from files where status = 'Available' and scan_generation < ${generation}
      and (scan_generation, id) > (${after?.generation ?? -1}, ${after?.fileId ?? FIRST_ID})
    order by scan_generation, id limit ${BATCH}`;
  const outcomes: Partial<Record<RescanOutcome, number>> = {};
  const endsAt = performance.now() + BATCH_MS;
  let last: OutdatedFile | undefined;
  for (const file of files) {
    job.signal.throwIfAborted();
    const outcome = await scanWithCrashGuard(p, file.id, job, {
      scan: () => rescanFile(p, file.id, { engine, generation }, job.signal),
      giveUp: (p) => skipFile(p, file.id, { engine, generation }, GIVEN_UP),
    });
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (outcome === "Error" && !await askEngine(p)) {
      await setWalk(p, args, { untilMs: PAUSE_WITHOUT_ENGINE_MS });
      return outcomes;
    }
    last = file;
    if (performance.now() > endsAt) break;
  }
  const errors = args.errors + (outcomes.Error ?? 0);
  if (last && (last !== files.at(-1) || files.length === BATCH)) {
    await enqueueNext(p, { ...args, errors, after: { generation: last.scanGeneration, fileId: last.id } });
  } else {
    await setWalk(p, args, { untilMs: errors > 0 ? PAUSE_AFTER_ERRORS_MS : null });
  }
  return outcomes;
}

const timeAfter = (now: Date, ms: number) => new Date(now.getTime() + ms);

/** Sets when the walk expires; null ends it. @returns false if another batch has taken over the walk. */
async function setWalk(
  p: Pick<Platform, "sql" | "clock">,
  { generation, batch }: BatchArgs,
  { untilMs }: { untilMs: number | null },
): Promise<boolean> {
  const until = untilMs === null ? null : timeAfter(p.clock.now(), untilMs);
  const updated = await p.sql`update scan_generations set walk_until = ${until}
    where id = ${generation} and walk_batch = ${batch}`;
  return updated.count === 1;
}

/** Enqueues the next batch. The compare-and-set of `walk_batch` prevents two runs of one job from both enqueuing it. */
async function enqueueNext(p: Platform, args: BatchArgs): Promise<void> {
  await transact(p.sql, async (tx) => {
    const next = { ...args, batch: args.batch + 1 };
    const updated = await tx`update scan_generations set walk_batch = ${next.batch},
        walk_until = ${timeAfter(p.clock.now(), WALK_EXPIRY_MS)}
      where id = ${args.generation} and walk_batch = ${args.batch}`;
    if (updated.count === 1) await enqueueJob(p, tx, rescanBatchJob, next, { priority: "Low" });
  });
}

/** The engine's status; null if the engine does not answer. */
async function askEngine(p: Pick<Platform, "scanner">): Promise<ScannerStatus | null> {
  try {
    return await p.scanner.status();
  } catch (error) {
    if (error instanceof ScanUnavailable) return null;
    throw error;
  }
}
