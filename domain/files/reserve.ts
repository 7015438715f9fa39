import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { profilesOf } from "./configured_profiles.ts";
import { requireSystemAdmin } from "./file.ts";
import { newStagingKey } from "./object_keys.ts";
import { registerObject } from "./objects.ts";
import { declaredTypeAllowed, type FileProfile } from "./profiles.ts";

const UPLOAD_SECONDS = 15 * 60;
/** An upload that began before its URL expired may still be under way this long after. */
const LATE_UPLOAD_MS = 60 * 60_000;

export interface Reservation {
  fileId: string;
  uploadUrl: string;
  uploadExpiresAt: Date;
  /** Signed into the URL: storage refuses another size or type. */
  requiredHeaders: Record<string, string>;
}

export interface ReservationRequest {
  profile: string;
  fileName: string;
  /** Printable ASCII, single spaces. */
  contentType: string;
  sizeBytes: number;
  isProduct: boolean;
}

/**
 * Reserves a file and signs its upload. The checks come in the contract's order: product, profile, type, size.
 * @throws MISSING_PERMISSION, FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE,
 * FILE_TOO_LARGE_UNPROCESSABLE
 */
export async function reserveFile(
  p: Pick<Platform, "sql" | "objects" | "clock" | "config">,
  caller: Caller,
  o: ReservationRequest,
): Promise<Reservation> {
  const tenantId = o.isProduct ? null : caller.tenantId;
  if (tenantId === null) requireSystemAdmin(caller, "Reserving a product file");
  const profile = requireProfile(p, o.profile);
  requireFit(profile, o.contentType, o.sizeBytes);

  const stagingKey = newStagingKey();
  const signed = await p.objects.signUpload(stagingKey, {
    contentType: o.contentType,
    sizeBytes: o.sizeBytes,
    expiresInSeconds: UPLOAD_SECONDS,
    now: p.clock.now(),
  });
  const fileId = await transact(p.sql, (tx) =>
    insertReservation(tx, {
      ...o,
      tenantId,
      stagingKey,
      createdBy: caller.userId,
      uploadExpiresAt: signed.expiresAt,
      now: p.clock.now(),
    }));
  return {
    fileId,
    uploadUrl: signed.url,
    uploadExpiresAt: signed.expiresAt,
    requiredHeaders: signed.requiredHeaders,
  };
}

export interface NewFile extends Omit<ReservationRequest, "isProduct"> {
  tenantId: string | null;
  stagingKey: string;
  createdBy: string | null;
  uploadExpiresAt: Date;
  now: Date;
}

/** Writes a Pending file and the key its upload may appear under. */
export async function insertReservation(tx: Tx, o: NewFile): Promise<string> {
  const id = newId();
  await tx`insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key,
      created_by, created_at, upload_expires_at)
    values (${id}, ${o.tenantId}, ${o.profile}, ${o.fileName}, ${o.contentType}, ${o.sizeBytes}, ${o.stagingKey},
      ${o.createdBy}, ${o.now}, ${o.uploadExpiresAt})`;
  const writableUntil = new Date(o.uploadExpiresAt.getTime() + LATE_UPLOAD_MS);
  await registerObject(tx, { key: o.stagingKey, fileId: id, writableUntil });
  return id;
}

function requireProfile(p: Pick<Platform, "config">, name: string): FileProfile {
  const profiles = profilesOf(p.config);
  const profile = profiles.get(name);
  if (profile && !profile.serviceOnly) return profile;
  const open = [...profiles.values()].filter((each) => !each.serviceOnly).map((each) => each.name);
  throw problem(
    "FILE_PROFILE_UNKNOWN",
    `No profile "${name}" is open to callers; expected one of ${open.join(", ")}.`,
  );
}

function requireFit(profile: FileProfile, contentType: string, sizeBytes: number): void {
  if (!declaredTypeAllowed(profile, contentType)) {
    throw problem(
      "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
      `The profile ${profile.name} does not take ${contentType}; expected one of ${
        profile.contentTypes.join(", ")
      }.`,
    );
  }
  if (sizeBytes > profile.maxBytes) {
    throw problem(
      "FILE_TOO_LARGE_UNPROCESSABLE",
      `The file has ${sizeBytes} bytes; the profile ${profile.name} takes at most ${profile.maxBytes} bytes.`,
    );
  }
}
