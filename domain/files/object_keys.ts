import { randomBytes } from "node:crypto";
import { invalid } from "../problems/problem.ts";

/**
 * All object keys of the bucket are made here, except those of archives (`shared/archive.ts`). Keys of files are random: they cannot be guessed and reveal no name,
 * tenant, type or time. Keys of deliveries are readable, because people and programs collect deliveries from the bucket
 * by key.
 */

const random = () => randomBytes(24).toString("base64url");

export const STAGING_PREFIX = "staging/";
export const FINAL_PREFIX = "files/";
const DELIVERIES_PREFIX = "deliveries/";

/** A key for an upload. Objects under it are never served. */
export const newStagingKey = (): string => STAGING_PREFIX + random();

/** A key for one scanned copy. It is written once, and no upload URL ever names it. */
export const newFinalKey = (): string => FINAL_PREFIX + random();

/** The key of a delivery to `targetPath` (as returned by `deliveryPath`). The tenant prefix keeps tenants apart. */
export const deliveryKey = (tenantId: string | null, targetPath: string): string =>
  `${DELIVERIES_PREFIX}${tenantId ?? "product"}/${targetPath}`;

const MAX_PATH_BYTES = 512;
const SEGMENT = /^[\p{L}\p{N}_(][\p{L}\p{M}\p{N} _.()+,=@-]*$/u;

/**
 * Checks the path of a delivery, such as `a/b/name.ext`: no leading or trailing slash, no `.` or `..`.
 * @param field the field that the error names
 * @returns the path in Unicode NFC
 * @throws VALIDATION_ERROR
 */
export function deliveryPath(targetPath: string, field = "targetPath"): string {
  const bytes = new TextEncoder().encode(targetPath).length;
  if (bytes > MAX_PATH_BYTES) {
    throw invalid({ [field]: [`expected at most ${MAX_PATH_BYTES} bytes, found ${bytes}`] });
  }
  const segments = targetPath.normalize("NFC").split("/");
  if (!segments.every((segment) => SEGMENT.test(segment) && !segment.endsWith("."))) {
    throw invalid({
      [field]: [
        "expected a relative path such as monthly/users.csv, with letters, digits and _ . - ( ) + , = @",
      ],
    });
  }
  return segments.join("/");
}
