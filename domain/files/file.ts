import { z } from "zod";
import type { Sql, SqlPart, Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { actsAsOther, type Caller, holds, isProgram, isSystemAdmin } from "../rights/caller.ts";
import { EXPORT_PROFILE } from "./profiles.ts";
import { PURGE_KINDS, purgeKindOf } from "./purge_reasons.ts";
import { membersOf } from "../shared/members_of.ts";
import { time } from "../shared/shapes.ts";

export const FILE_STATUSES = ["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"] as const;
export type FileStatus = typeof FILE_STATUSES[number];
export const RETENTION_CLASSES = ["Temporary", "Standard", "Permanent"] as const;
export type RetentionClass = typeof RETENTION_CLASSES[number];

/** A file as callers see it, in any state. It does not contain object keys. */
export const FileRecord = z.object({
  id: z.guid(),
  tenantId: z.guid().nullable().describe("null: a product file"),
  profile: z.string(),
  fileName: z.string(),
  declaredContentType: z.string(),
  detectedContentType: z.string().nullable(),
  sizeBytes: z.int(),
  sha256: z.string().nullable(),
  status: z.enum(FILE_STATUSES),
  retentionClass: z.enum(RETENTION_CLASSES),
  retainUntil: time.nullable(),
  legalHold: z.boolean(),
  // The user who set the legal hold, the time and the reason; null also for holds that are older than these fields.
  legalHoldBy: z.guid().nullable().describe("Who set the legal hold"),
  legalHoldSince: time.nullable(),
  legalHoldReason: z.string().nullable(),
  purgesAt: time.nullable().describe(
    "When retention deletes the content if nothing changes; null: it does not, or the content is gone",
  ),
  purgeKind: z.enum(PURGE_KINDS).nullable().describe(
    "Of a Purged file: the service rejected it, it expired, or it was purged on request",
  ),
  purgeReason: z.string().nullable(),
  purgedAt: time.nullable(),
  purgedBy: z.guid().nullable(),
  rejectionCode: z.string().nullable(),
  signatureName: z.string().nullable(),
  referenceCount: z.int(),
  createdBy: z.guid().nullable(),
  createdAt: time,
  completedAt: time.nullable(),
  availableAt: time.nullable(),
}).meta({ id: "FileRecord" });
export type FileRecord = z.output<typeof FileRecord>;

/** The whole row. It contains object keys, so it leaves the domain only through `fileRecord`. */
export interface FileRow extends Omit<FileRecord, "purgesAt" | "purgeKind"> {
  /** The time at which retention may delete the content, if the file has no references. */
  collectAt: Date | null;
  stagingKey: string;
  stagedEtag: string | null;
  finalKey: string | null;
  finalEtag: string | null;
  uploadExpiresAt: Date;
  version: number;
}

/** The part of a row that callers may see: the members of `FileRecord`, and no other column. */
export const fileRecord = (row: FileRow): FileRecord =>
  membersOf(FileRecord, {
    ...row,
    purgesAt: isCollectable(row) ? row.collectAt : null,
    purgeKind: purgeKindOf(row.purgeReason),
  });

/** True if retention deletes the content at `collectAt`. */
const isCollectable = ({ status, referenceCount, legalHold, retentionClass }: FileRow): boolean =>
  (status === "Available" || status === "Failed") && referenceCount === 0 && !legalHold &&
  retentionClass !== "Permanent";

export type FileViewer = Pick<
  Caller,
  "tenantId" | "userId" | "clientId" | "apiKeyId" | "serviceAccount" | "actedBy" | "permissions"
>;

/**
 * The user whose exports the caller sees: the one who asked for them. Null: clients' tokens see none, because the user's own
 * route needs a recent sign-in, nor does who acts as the user, because an own export has data of all tenants. Programs see
 * them only with a permission to make some.
 */
export function seesExportsOf(caller: FileViewer): string | null {
  const rights = ["export:users", "manage:all-users", "manage:all-tenants"];
  const mayMake = !isProgram(caller) || rights.some((permission) => holds(caller, permission));
  return caller.clientId === null && !actsAsOther(caller) && mayMake ? caller.userId : null;
}

/**
 * Reads a file of the caller's tenant or a product file; an export of personal data only as `seesExportsOf` says.
 * Every route that names a file calls this or `lockVisibleFile` first, so another tenant's file gives the same answer as a
 * file that does not exist.
 * @throws FILE_NOT_FOUND
 */
export const readVisibleFile = (q: Sql, caller: FileViewer, fileId: string): Promise<FileRow> =>
  findVisible(q, caller, fileId, q``);

/** Reads a file as `readVisibleFile` and locks its row until the transaction ends. @throws FILE_NOT_FOUND */
export const lockVisibleFile = (tx: Tx, caller: FileViewer, fileId: string): Promise<FileRow> =>
  findVisible(tx, caller, fileId, tx`for update`);

async function findVisible(q: Sql, caller: FileViewer, fileId: string, lock: SqlPart): Promise<FileRow> {
  const [row] = await q<FileRow[]>`select * from files
    where id = ${fileId} and (tenant_id is null or tenant_id = ${caller.tenantId})
      and (profile <> ${EXPORT_PROFILE} or created_by = ${seesExportsOf(caller)}) ${lock}`;
  if (!row) throw fileNotFound();
  return row;
}

/** The error for a file that does not exist or that the caller may not see, so that callers cannot tell them apart. */
export const fileNotFound = () => problem("FILE_NOT_FOUND", "The caller's tenant has no such file.");

/**
 * Requires admin:system for a change of product files, in the platform tenant or without a tenant context.
 * @throws MISSING_PERMISSION, FORBIDDEN if the caller acts in another tenant
 */
export async function requireProductManager(q: Sql, caller: Caller, action: string): Promise<void> {
  if (isSystemAdmin(caller)) return;
  const [other] = await q`select from tenants where id = ${caller.tenantId} and type <> 'Platform'`;
  if (other) {
    throw problem("FORBIDDEN", `${action} is refused: product files are managed in the platform tenant.`);
  }
  requireSystemAdmin(false, action);
}

/**
 * Requires admin:system, in addition to a route's own permission.
 * @param isAdmin for purging a Permanent file and releasing a legal hold, the platform tenant counts too:
 * `holdsAdminSystemAnywhere`
 * @param action the attempted action, with which the message begins
 * @throws MISSING_PERMISSION
 */
export function requireSystemAdmin(isAdmin: boolean, action: string): void {
  if (isAdmin) return;
  throw problem("MISSING_PERMISSION", `${action} also needs admin:system, which the caller does not hold.`);
}
