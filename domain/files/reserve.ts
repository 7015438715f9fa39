import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { isTransaction, type Pool, type Sql } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../rights/caller.ts";
import { invalid, problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { profilesOf } from "./configured_profiles.ts";
import { requireSystemAdmin } from "./file.ts";
import { newStagingKey } from "./object_keys.ts";
import {
  askStorage,
  type PartPlan,
  type PartReservation,
  type PartUpload,
  planParts,
  type RequestedParts,
  signParts,
} from "./parts.ts";
import { declaredTypeAllowed, type FileProfile } from "./profiles.ts";

const UPLOAD_SECONDS = 15 * 60;
/** An upload in parts gets extra time: one second per this many bytes, up to MAX_UPLOAD_SECONDS in total. */
const MIN_UPLOAD_BYTES_PER_SECOND = 512 * 1024;
const MAX_UPLOAD_SECONDS = 24 * 60 * 60;
/** An upload that started before its URL expired may still be running this long after. */
const LATE_UPLOAD_MS = 60 * 60_000;

export interface Reservation {
  fileId: string;
  uploadUrl: string;
  uploadExpiresAt: Date;
  /** Signed into the URL: storage refuses another size or type. */
  requiredHeaders: Record<string, string>;
  /** Present if parts were requested: one URL per part, as an alternative to `uploadUrl`. */
  parts?: PartReservation[];
}

export interface ReservationRequest {
  profile: string;
  fileName: string;
  /** Printable ASCII, single spaces. */
  contentType: string;
  sizeBytes: number;
  isProduct: boolean;
  parts: RequestedParts | null;
}

/**
 * Reserves a file and signs its upload URL. Checks run in this order: product file, profile, type, size, parts.
 * @throws MISSING_PERMISSION, FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE,
 * FILE_TOO_LARGE_UNPROCESSABLE; with parts also VALIDATION_ERROR, FILE_STORAGE_UNAVAILABLE
 */
export async function reserveFile(
  p: Pick<Platform, "sql" | "objects" | "clock" | "config" | "reservationWriter">,
  caller: Caller,
  o: ReservationRequest,
): Promise<Reservation> {
  const tenantId = o.isProduct ? null : caller.tenantId;
  if (tenantId === null) requireSystemAdmin(caller, "Reserving a product file");
  const profile = requireProfile(p, o.profile);
  requireFit(profile, o.contentType, o.sizeBytes);

  const stagingKey = newStagingKey();
  const now = p.clock.now();
  const plan = o.parts === null ? null : requirePlan(o.sizeBytes, o.parts);
  const expiresInSeconds = plan ? secondsForParts(o.sizeBytes) : UPLOAD_SECONDS;
  const signed = p.objects.signUpload(stagingKey, {
    contentType: o.contentType,
    sizeBytes: o.sizeBytes,
    expiresInSeconds,
    now,
  });
  const byParts = plan && await beginParts(p, stagingKey, o, plan, { expiresInSeconds, now });
  const { profile: name, fileName, contentType, sizeBytes } = o;
  const fileId = await p.reservationWriter.write(p.sql, {
    tenantId,
    profile: name,
    fileName,
    contentType,
    sizeBytes,
    stagingKey,
    partUpload: byParts?.upload ?? null,
    createdBy: caller.userId,
    uploadExpiresAt: signed.expiresAt,
    now,
  });
  return {
    fileId,
    uploadUrl: signed.url,
    uploadExpiresAt: signed.expiresAt,
    requiredHeaders: signed.requiredHeaders,
    ...(byParts ? { parts: byParts.parts } : {}),
  };
}

const secondsForParts = (sizeBytes: number): number =>
  Math.min(UPLOAD_SECONDS + Math.ceil(sizeBytes / MIN_UPLOAD_BYTES_PER_SECOND), MAX_UPLOAD_SECONDS);

/**
 * Starts a multipart upload at the store and signs the URL of each part. If the service crashes before it writes the
 * reservation, the upload stays at the store, but it is empty because nobody has its URLs.
 */
async function beginParts(
  p: Pick<Platform, "objects">,
  key: string,
  { contentType, sizeBytes }: ReservationRequest,
  plan: PartPlan,
  o: { expiresInSeconds: number; now: Date },
): Promise<{ upload: PartUpload; parts: PartReservation[] }> {
  const uploadId = await askStorage(p.objects.startParts(key, { contentType }));
  const parts = signParts(p, key, { uploadId, plan, sizeBytes, ...o });
  return { upload: { uploadId, partCount: plan.count }, parts };
}

export interface NewFile extends Omit<ReservationRequest, "isProduct" | "parts"> {
  tenantId: string | null;
  stagingKey: string;
  partUpload: PartUpload | null;
  createdBy: string | null;
  uploadExpiresAt: Date;
  now: Date;
}

/** Writes reservations. Concurrent ones share one commit (group commit). */
export class ReservationWriter {
  readonly #files: GroupCommit<NewFile, string>;

  constructor(pool: Pool) {
    this.#files = new GroupCommit((files) => insertReservations(pool, files));
  }

  /**
   * Resolves with the file's id.
   * @param sql a transaction to write it in; a pool: resolves after the commit, which concurrent calls share
   */
  async write(sql: Sql, file: NewFile): Promise<string> {
    if (!isTransaction(sql)) return await this.#files.add(file);
    const [id = ""] = await insertReservations(sql, [file]);
    return id;
  }
}

/** Inserts Pending files and their staging keys in one statement. @returns the ids, in the given order */
export async function insertReservations(q: Sql, files: NewFile[]): Promise<string[]> {
  const rows = files.map(({ partUpload, ...file }) => ({
    ...file,
    id: newId(),
    writableUntil: new Date(file.uploadExpiresAt.getTime() + LATE_UPLOAD_MS),
    uploadId: partUpload?.uploadId,
    partCount: partUpload?.partCount,
  }));
  await q`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as f (
        id uuid, "tenantId" uuid, profile text, "fileName" text, "contentType" text, "sizeBytes" bigint,
        "stagingKey" text, "createdBy" uuid, now timestamptz, "uploadExpiresAt" timestamptz,
        "writableUntil" timestamptz, "uploadId" text, "partCount" integer)
    ), written as (
      insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key,
        created_by, created_at, upload_expires_at)
      select id, "tenantId", profile, "fileName", "contentType", "sizeBytes", "stagingKey", "createdBy", now,
        "uploadExpiresAt" from given
    )
    insert into file_objects (key, file_id, writable_until, upload_id, part_count)
    select "stagingKey", id, "writableUntil", "uploadId", "partCount" from given`;
  return rows.map(({ id }) => id);
}

function requireProfile(p: Pick<Platform, "config">, name: string): FileProfile {
  const profiles = profilesOf(p.config);
  const profile = profiles.get(name);
  if (profile && !profile.serviceOnly) return profile;
  const allowed = [...profiles.values()].filter((each) => !each.serviceOnly).map((each) => each.name);
  throw problem(
    "FILE_PROFILE_UNKNOWN",
    `Callers cannot use a profile "${name}"; expected one of ${allowed.join(", ")}.`,
  );
}

function requireFit(profile: FileProfile, contentType: string, sizeBytes: number): void {
  if (!declaredTypeAllowed(profile, contentType)) {
    throw problem(
      "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
      `The profile ${profile.name} does not allow ${contentType}; expected one of ${
        profile.contentTypes.join(", ")
      }.`,
    );
  }
  if (sizeBytes > profile.maxBytes) {
    throw problem(
      "FILE_TOO_LARGE_UNPROCESSABLE",
      `The file has ${sizeBytes} bytes; the profile ${profile.name} allows at most ${profile.maxBytes} bytes.`,
    );
  }
}

function requirePlan(sizeBytes: number, requested: RequestedParts): PartPlan {
  const plan = planParts(sizeBytes, requested);
  if (plan) return plan;
  throw invalid({
    parts: [
      `expected parts of 5 MiB to 5 GiB, all of one size except the last; ${sizeBytes} bytes cannot be split into ${requested} such parts`,
    ],
  });
}
