import { connectObjectStore } from "../../infra/objectstore/objectstore.ts";
import { objectStoreConfig } from "../../infra/objectstore/address.ts";
import type { Pool } from "../../infra/postgres/postgres.ts";
import { openScanner } from "../../infra/scanner/configured_scanner.ts";
import type { Platform } from "../shared/platform.ts";
import { profilesOf } from "./profiles.ts";
import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { insertReservations, type NewFile } from "./reservation_writer.ts";
import { attachedFiles } from "./service_files.ts";

/** The members of the platform with which files are kept and scanned. */
export async function openFiles(
  { config, sql, log, clock, metrics }: Pick<Platform, "config" | "log" | "clock" | "metrics"> & {
    sql: Pool;
  },
) {
  profilesOf(config); // throws now, not at the first upload, if FILE_PROFILES is wrong
  const objects = connectObjectStore(objectStoreConfig(config), clock);
  if (!config.isProduction) await objects.ensureBucket();
  return {
    objects,
    scanner: openScanner(config, { log, onVerdict: (verdict) => metrics.scans.add([verdict]) }),
    reservationWriter: new GroupCommit((files: NewFile[]) => insertReservations(sql, files)),
    attachedFiles,
  };
}
