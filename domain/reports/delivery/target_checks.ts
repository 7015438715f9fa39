import { urlMistake } from "../../../infra/http_out/url_mistake.ts";
import { deliveryPath } from "../../files/service_files.ts";
import { type FieldErrors, invalid, Problem } from "../../problems/problem.ts";
import { HIDDEN, type TargetFields } from "./target_shapes.ts";

/** The stored settings of a target, without its secret. */
export interface TargetPlace {
  endpoint: string | null;
  region: string | null;
  bucket: string | null;
  prefix: string | null;
  pathStyle: boolean | null;
  accessKeyId: string | null;
}

const NO_PLACE: TargetPlace = {
  endpoint: null,
  region: null,
  bucket: null,
  prefix: null,
  pathStyle: null,
  accessKeyId: null,
};
const DEFAULT_REGION = "us-east-1";
/** The characters that the header of a signed request may have. */
const HEADER_WORD = /^[\x21-\x7e]*$/;
const BUCKET = /^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9.-]{1,61}[A-Za-z0-9]$/;

/**
 * Checks that a target has what its kind needs, and nothing of the other kind.
 * @param t all fields after the change; a secret that stays is HIDDEN
 * @param allow OUTBOUND_ALLOW
 * @throws VALIDATION_ERROR naming every field
 */
export function checkTarget(t: TargetFields, allow: string | null): TargetPlace {
  const errors: FieldErrors = {};
  const refuse = (field: string, message: string) => (errors[field] ??= []).push(message);
  const place = t.kind === "s3" ? checkBucket(t, allow, refuse) : checkSlack(t, allow, refuse);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return place;
}

type Refuse = (field: string, message: string) => void;

function checkBucket(t: TargetFields, allow: string | null, refuse: Refuse): TargetPlace {
  const { endpoint, bucket, accessKeyId, secretAccessKey } = t;
  if (!endpoint) refuse("endpoint", "a target of kind s3 needs an endpoint");
  else {
    const mistake = urlMistake(endpoint, allow) ?? (/[?#]/.test(endpoint) ? "expected no query" : null);
    if (mistake) refuse("endpoint", mistake);
  }
  if (!BUCKET.test(bucket ?? "")) {
    refuse("bucket", "expected 3 to 63 letters, digits, dots and hyphens");
  }
  if (!accessKeyId) refuse("accessKeyId", "a target of kind s3 needs an accessKeyId");
  for (const [field, word] of Object.entries({ region: t.region, accessKeyId })) {
    if (!HEADER_WORD.test(word ?? "")) refuse(field, "expected ASCII characters without spaces");
  }
  if (!secretAccessKey) refuse("secretAccessKey", "a target of kind s3 needs a secretAccessKey");
  if (t.webhookUrl) refuse("webhookUrl", "only a target of kind slack has a webhookUrl");
  return {
    endpoint: endpoint ?? null,
    region: t.region || DEFAULT_REGION,
    bucket: bucket ?? null,
    prefix: checkPrefix(t.prefix ?? "", refuse),
    pathStyle: t.pathStyle ?? true,
    accessKeyId: accessKeyId ?? null,
  };
}

function checkPrefix(prefix: string, refuse: Refuse): string {
  const path = prefix.replaceAll(/^\/+|\/+$/g, "");
  if (path === "") return "";
  try {
    return deliveryPath(path, "prefix");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    for (const message of Object.values(error.extras.errors ?? {}).flat()) refuse("prefix", message);
    return "";
  }
}

function checkSlack(t: TargetFields, allow: string | null, refuse: Refuse): TargetPlace {
  const given = { ...t } as Record<string, unknown>;
  for (const field of [...Object.keys(NO_PLACE), "secretAccessKey"]) {
    if (given[field] !== null && given[field] !== undefined) {
      refuse(field, `only a target of kind s3 has ${field}`);
    }
  }
  if (!t.webhookUrl) refuse("webhookUrl", "a target of kind slack needs a webhookUrl");
  const mistake = t.webhookUrl && t.webhookUrl !== HIDDEN ? urlMistake(t.webhookUrl, allow) : null;
  if (mistake) refuse("webhookUrl", mistake);
  return NO_PLACE;
}
