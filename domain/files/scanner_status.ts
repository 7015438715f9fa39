import { HOUR_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { ScanUnavailable } from "../../infra/scanner/scanner.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

const STALE_HOURS = 48;

export const ScannerReport = z.object({
  // Name and version.
  engine: z.string(),
  databaseVersion: z.string().nullable(),
  databaseAgeHours: z.number().nullable(),
  // Older than 48 hours, or of unknown age.
  databaseStale: z.boolean(),
  // Files of all tenants that are Scanning.
  queueDepth: z.int(),
  queueOldestItemAgeSeconds: z.int().nullable(),
}).meta({ id: "ScannerStatus" });
export type ScannerReport = z.output<typeof ScannerReport>;

/** The scan engine, the age of its signature database and the scan queue. @throws FILE_SCAN_UNAVAILABLE */
export async function readScannerStatus(
  p: Pick<Platform, "sql" | "scanner" | "clock">,
): Promise<ScannerReport> {
  const engine = await p.scanner.status().catch((error) => {
    if (!(error instanceof ScanUnavailable)) throw error;
    throw problem("FILE_SCAN_UNAVAILABLE", "The scan engine did not answer; files wait in Scanning.", {
      cause: error,
    });
  });
  const queue = await readScanQueue(p);
  const now = p.clock.now().getTime();
  const ageHours = engine.databaseDate === null
    ? null
    : Math.max(0, now - engine.databaseDate.getTime()) / HOUR_MS;
  return {
    engine: engine.engine,
    databaseVersion: engine.databaseVersion,
    databaseAgeHours: ageHours === null ? null : Math.round(ageHours * 100) / 100,
    databaseStale: ageHours === null || ageHours > STALE_HOURS,
    queueDepth: queue.depth,
    queueOldestItemAgeSeconds: queue.oldestSeconds === null ? null : Math.floor(queue.oldestSeconds),
  };
}

/** Number of files of all tenants that are Scanning, and the age of the oldest; the age is null if no file is Scanning. */
export async function readScanQueue(
  { sql, clock }: Pick<Platform, "sql" | "clock">,
): Promise<{ depth: number; oldestSeconds: number | null }> {
  const [queue] = await sql<{ depth: number; oldest: Date | null }[]>`
    select count(*) as depth, min(completed_at) as oldest from files where status = 'Scanning'`;
  const oldest = queue?.oldest?.getTime();
  const oldestSeconds = oldest === undefined ? null : Math.max(0, clock.now().getTime() - oldest) / 1000;
  return { depth: queue?.depth ?? 0, oldestSeconds };
}
