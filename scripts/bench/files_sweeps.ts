import { collectExpired, expireReservations, requeueStuckScans } from "../../domain/files/sweeps.ts";
import { startRescan } from "../../domain/files/rescan.ts";
import { readScannerStatus } from "../../domain/files/scanner_status.ts";
import { systemClock } from "../../domain/shared/clock.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";

const FILES = 1_000_000;
const WAITING = 10_000;
const ROUNDS = 9;

/** Time of the sweeps that run every minute, and of the scanner's status, over a million files of which none is due. */
export async function filesSweeps({ sql }: BenchSetup): Promise<void> {
  await sql.unsafe("alter table files disable trigger user"); // the rows are inserted without their earlier states
  for (let from = 0; from < FILES; from += 100_000) {
    await sql`
      insert into files (id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at, status,
        completed_at, scan_due_at, staged_etag, sha256, final_key, final_etag, available_at, purge_reason, purged_at,
        reference_count, scan_generation)
      select gen_random_uuid(), 'document', 'bench.txt', 'text/plain', 1000, 'staging/' || n, now() + interval '1 hour',
        case when n % 100 = 0 then 'Scanning' when n % 100 < 10 then 'Purged' when n % 100 < 20 then 'Pending'
          else 'Available' end::file_status,
        now(), now(), 'x', repeat('a', 64), 'files/' || n, 'y', now(),
        case when n % 100 between 1 and 9 then 'gone' end, case when n % 100 between 1 and 9 then now() end, n % 3, 1
      from generate_series(${from}::int, ${from + 99_999}::int) n`;
  }
  await sql.unsafe("alter table files enable trigger user");
  await sql.unsafe("vacuum analyze files");
  const status = () => Promise.resolve({ engine: "Bench 1", databaseVersion: "1", databaseDate: null });
  const parts: Pick<Platform, "sql" | "clock" | "wakeUps"> & {
    scanner: Pick<Platform["scanner"], "status">;
  } = {
    sql,
    clock: systemClock,
    wakeUps: { at: () => {} },
    scanner: { status },
  };
  const p = parts as Platform; // sweeps without due files use only these members
  await sql`insert into scan_generations (engine, database_version) values ('Bench 1', '1')`;
  const sweeps: Record<string, () => Promise<unknown>> = {
    "expired reservations": () => expireReservations(p),
    "expired retention": () => collectExpired(p),
    "stuck scans": () => requeueStuckScans(p),
    "outdated files": () => startRescan(p),
    "the scanner's status": () => readScannerStatus(p),
  };
  for (const [what, sweep] of Object.entries(sweeps)) {
    const times: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const started = performance.now();
      await sweep();
      if (round > 0) times.push(performance.now() - started);
    }
    printResult(`${what}, among ${FILES} files with ${WAITING} waiting`, rounded(median(times)), " ms", {
      max: 20,
    });
  }
}
