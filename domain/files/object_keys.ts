import { randomBytes } from "node:crypto";
import { invalid } from "../problems/problem.ts";

/**
 * Every key of the bucket is made here. Keys of files are random: they tell neither name, tenant, kind nor time, and
 * cannot be guessed. Only the keys of deliveries speak, to whoever collects them from the bucket.
 */

const random = () => randomBytes(24).toString("base64url");

export const STAGING_PREFIX = "staging/";
export const FINAL_PREFIX = "files/";
const DELIVERIES_PREFIX = "deliveries/";

/** A key an upload URL may name. Nothing under it is ever served. */
export const newStagingKey = (): string => STAGING_PREFIX + random();

/** A key for one examined copy. No upload URL ever names it, and it is written once. */
export const newFinalKey = (): string => FINAL_PREFIX + random();

/** Key of a delivery to `targetPath` (as `deliveryPath` returned it); tenants never reach each other's. */
export const deliveryKey = (tenantId: string | null, targetPath: string): string =>
  `${DELIVERIES_PREFIX}${tenantId ?? "product"}/${targetPath}`;

const MAX_PATH_BYTES = 512;
const SEGMENT = /^[\p{L}\p{N}_(][\p{L}\p{M}\p{N} _.()+,=@-]*$/u;

/**
 * Checks the path a delivery is copied to: `a/b/name.ext`, without leading or trailing slash, `.` or `..`.
 * @param field the name a refusal gives the value.
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
        "expected a relative path such as monthly/users.csv, of letters, digits and _ . - ( ) + , = @",
      ],
    });
  }
  return segments.join("/");
}
