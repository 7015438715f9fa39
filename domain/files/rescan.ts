import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type ScannerStatus, ScanUnavailable, type ScanVerdict } from "../../infra/scanner/scanner.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { GIVEN_UP, type ScanJob, scanWithCrashGuard } from "./crashed_scan.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { FilePlatform } from "./platform.ts";
import { generationOf } from "./rescan_generation.ts";
import { failureOf, SCAN_TIMEOUT_MS } from "./scan.ts";
import { recordAudit } from "../audit/audit.ts";
import { ContentUnreadable, hashAndScan } from "./scan_content.ts";
import { profilesOf } from "./profiles.ts";
import type { FileRow } from "./file.ts";
import { emitFileInfected } from "./file_events.ts";
import { deleteDiscarded, discardObjects } from "./objects.ts";
import { insertScanAttempt } from "./scan_attempts.ts";
import { sendNotification } from "../notifications/sending/send.ts";
import { findUsersInTenant } from "../rights/user_lookup.ts";

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
      giveUp: (p) => recordError(p, file.id, { engine, generation, isSkipped: true }, GIVEN_UP),
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

/** The outcome of one file. Error: no verdict, so the file stays unchanged. Gone: the file is not Available. */
type RescanOutcome = "Clean" | "Infected" | "Error" | "Gone";

/**
 * Scans an Available file again. If the engine finds a signature, the file becomes Infected, its content is destroyed (after
 * the end of a legal hold) and its owners are notified. Errors and unreadable content leave it Available. The function may
 * run twice at the same time and may be interrupted anywhere, because the state changes by compare-and-set under the row lock.
 */
export async function rescanFile(
  p: Platform,
  fileId: string,
  engineGeneration: { engine: ScannerStatus; generation: number },
  signal: AbortSignal,
): Promise<RescanOutcome> {
  const [file] = await p.sql<FileRow[]>`select * from files where id = ${fileId} and status = 'Available'`;
  if (!file || file.finalKey === null) return "Gone";
  const startedAt = p.clock.now();
  try {
    const { finalKey, sizeBytes } = file;
    const isOwn = profilesOf(p.config).get(file.profile)?.serviceOnly ?? false;
    const found = await hashAndScan(p, { finalKey, sizeBytes, isOwn }, signal);
    if (found.verdict.verdict === "Clean" && found.sha256 !== file.sha256) {
      throw new ContentUnreadable("the content has another hash than in the first scan");
    }
    const attempt = { startedAt, ...engineGeneration };
    if (found.verdict.verdict === "Rejected") { // an engine with higher limits accepted the file before
      return await recordError(p, fileId, { ...attempt, isSkipped: true }, found.verdict.reason);
    }
    const outcome = await settleRescan(p, fileId, found.verdict, attempt);
    if (outcome === "Infected") await deleteDiscarded(p, [fileId]);
    return outcome;
  } catch (error) {
    signal.throwIfAborted();
    const failure = failureOf(error);
    if (!failure) throw error;
    p.log.warn("a file could not be rescanned; it stays Available", { fileId, error });
    return await recordError(p, fileId, { startedAt, ...engineGeneration }, failure.message);
  }
}

async function settleRescan(
  p: Platform,
  fileId: string,
  verdict: Exclude<ScanVerdict, { verdict: "Rejected" }>,
  { startedAt, engine, generation }: { startedAt: Date; engine: ScannerStatus; generation: number },
): Promise<RescanOutcome> {
  return await transact(p.sql, async (tx) => {
    const file = await lockAvailable(tx, fileId);
    if (!file) return "Gone";
    const now = p.clock.now();
    const attempt = { startedAt, completedAt: now, engine };
    if (verdict.verdict === "Clean") {
      if (file.scanGeneration >= generation) return "Clean"; // another walk was faster
      const { detectedContentType } = file;
      await insertScanAttempt(tx, fileId, { ...attempt, verdict: "Clean", detectedContentType });
      await tx`update files set scan_generation = ${generation} where id = ${fileId}`;
      return "Clean";
    }
    const { signatureName } = verdict;
    await insertScanAttempt(tx, fileId, { ...attempt, verdict: "Infected", signatureName });
    await tx`update files set status = 'Infected', signature_name = ${signatureName}, version = version + 1
      where id = ${fileId}`;
    if (!file.legalHold) await discardObjects(tx, [fileId], now);
    await recordAudit(tx, null, "file.infected", fileId, {
      tenantId: file.tenantId,
      before: { status: file.status, sha256: file.sha256, sizeBytes: file.sizeBytes },
      after: { status: "Infected", signatureName },
    });
    await emitFileInfected(p, tx, { ...file, signatureName });
    await enqueueJob(p, tx, notifyOwnersJob, { fileId }, { tenantId: file.tenantId });
    return "Infected";
  });
}

/**
 * Records an attempt without a verdict. The file stays Available.
 * @param o.isSkipped true: the file is not scanned again with this generation
 */
async function recordError(
  p: Pick<Platform, "sql" | "clock">,
  fileId: string,
  o: { startedAt?: Date; engine: ScannerStatus; generation: number; isSkipped?: boolean },
  errorMessage: string,
): Promise<RescanOutcome> {
  return await transact(p.sql, async (tx) => {
    if (!await lockAvailable(tx, fileId)) return "Gone";
    const completedAt = p.clock.now();
    const { startedAt = completedAt, engine, generation } = o;
    await insertScanAttempt(tx, fileId, { startedAt, completedAt, engine, verdict: "Error", errorMessage });
    if (o.isSkipped) await tx`update files set scan_generation = ${generation} where id = ${fileId}`;
    return "Error";
  });
}

async function lockAvailable(tx: Tx, fileId: string): Promise<FileRow & { scanGeneration: number } | null> {
  const [row] = await tx<(FileRow & { scanGeneration: number })[]>`
    select * from files where id = ${fileId} and status = 'Available' for update`;
  return row ?? null;
}

const UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
const RECIPIENTS_PER_MESSAGE = 500;

/**
 * Notifies a file's owners in-app that a rescan found the file infected. It is a separate job, so that a failure to
 * send cannot keep an infected file Available. The owners get one notification, even if the job runs more than once.
 */
export const notifyOwnersJob = defineJob({
  name: "files.tell-owners",
  args: z.object({ fileId: z.guid() }),
  run: async ({ fileId }, { platform }: JobContext<FilePlatform>) => ({
    told: await notifyOwners(platform, fileId),
  }),
});

/** @returns how many users were notified; 0 if they were notified before. */
export async function notifyOwners(p: FilePlatform, fileId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const [file] = await tx<FileRow[]>`
      select * from files where id = ${fileId} and status = 'Infected' and owners_told_at is null for update`;
    if (!file) return 0;
    const owners = await findUsersInTenant(tx, file.tenantId, await ownersOf(tx, file));
    const sender = { tenantId: file.tenantId, userId: null, traceId: null };
    for (let from = 0; from < owners.length; from += RECIPIENTS_PER_MESSAGE) {
      const recipients = owners.slice(from, from + RECIPIENTS_PER_MESSAGE).map(({ id }) => ({ address: id }));
      await sendNotification(p, tx, sender, {
        channel: "InApp",
        recipients,
        subject: `The file "${file.fileName}" was found infected`,
        textBody:
          `A newer scan found ${file.signatureName} in the file "${file.fileName}". The file can no longer be ` +
          "downloaded. Do not open copies of it. Upload a clean version if you still need the file.",
        priority: "High",
        category: "files",
        actionUrl: `/api/v1/files/${fileId}`,
      });
    }
    await tx`update files set owners_told_at = ${p.clock.now()} where id = ${fileId}`;
    return owners.length;
  });
}

/**
 * Ids of possible owners: who created the file or one of its references, and owner ids of references that are UUIDs.
 */
async function ownersOf(tx: Tx, { id, createdBy }: FileRow): Promise<string[]> {
  const rows = await tx<{ userId: string }[]>`
    select created_by as user_id from file_references
    where file_id = ${id} and released_at is null and created_by is not null
    union
    select owner_id::uuid from file_references
    where file_id = ${id} and released_at is null and owner_id ~ ${UUID}`;
  return [...new Set([...rows.map((row) => row.userId), ...(createdBy === null ? [] : [createdBy])])];
}
