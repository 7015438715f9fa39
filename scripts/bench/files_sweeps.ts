import { collectExpired, expireReservations, requeueStuckScans } from "../../domain/files/sweeps.ts";
import { startRescan } from "../../domain/files/rescan.ts";
import { readScannerStatus } from "../../domain/files/scanner_status.ts";
import { systemClock } from "../../infra/clock.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { measure, scaled, timeOf } from "./compare.ts";

const FILES = scaled(1_000_000);

/** Time of the sweeps that run every minute, and of the scanner's status, over a million files of which none is due. */
export async function filesSweeps({ sql }: BenchSetup): Promise<void> {
  await sql.unsafe("alter table files disable trigger user"); // the rows are inserted without their earlier states
  await sql`
    insert into files (id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at, status,
      completed_at, scan_due_at, staged_etag, sha256, final_key, final_etag, available_at, purge_reason, purged_at,
      reference_count, scan_generation)
    select gen_random_uuid(), 'document', 'bench.txt', 'text/plain', 1000, 'staging/' || n, now() + interval '1 hour',
      case when n % 100 = 0 then 'Scanning' when n % 100 < 10 then 'Purged' when n % 100 < 20 then 'Pending'
        else 'Available' end::file_status,
      now(), now(), 'x', repeat('a', 64), 'files/' || n, 'y', now(),
      case when n % 100 between 1 and 9 then 'gone' end, case when n % 100 between 1 and 9 then now() end, n % 3, 1
    from generate_series(1, ${FILES}::int) n`;
  await sql.unsafe("alter table files enable trigger user");
  await sql.unsafe("vacuum analyze files");
  const status = () => Promise.resolve({ engine: "Bench 1", databaseVersion: "1", databaseDate: null });
  const used: Pick<ServicePlatform, "sql" | "clock" | "wakeUps"> & {
    scanner: Pick<ServicePlatform["scanner"], "status">;
  } = {
    sql,
    clock: systemClock,
    wakeUps: { at: () => {} },
    scanner: { status },
  };
  const p = used as ServicePlatform; // sweeps without due files use only these members
  await sql`insert into scan_generations (engine, database_version) values ('Bench 1', '1')`;
  const sweeps: Record<string, () => Promise<unknown>> = {
    "expired reservations": () => expireReservations(p),
    "expired retention": () => collectExpired(p),
    "stuck scans": () => requeueStuckScans(p),
    "outdated files": () => startRescan(p),
    "the scanner's status": () => readScannerStatus(p),
  };
  for (const [what, sweep] of Object.entries(sweeps)) {
    await measure({
      name: `${what}, among ${FILES} files with ${FILES / 100} waiting`,
      unit: " ms",
      run: () => timeOf(sweep),
      rounds: 9,
      max: 20,
    });
  }
}
