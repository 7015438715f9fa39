import type { RightsPlatform } from "../rights/platform.ts";
import type { AuditWriter } from "./audit_writer.ts";

export interface AuditPlatform extends RightsPlatform {
  /** Writes audit rows that belong to no database change, in shared commits. */
  auditWriter: AuditWriter;
}
