import { z } from "zod";
import { createSecretBox, type SecretBox } from "../../../infra/encryption.ts";
import { urlMistake } from "../../../infra/http_out/addresses.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { deliveryPath } from "../../files/objects.ts";
import { type FieldErrors, invalid, Problem, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { enumName, requiredName } from "../../shared/shapes.ts";

/** Another S3 bucket, or a webhook that takes Slack messages. */
export const TARGET_KINDS = ["s3", "slack"] as const;
export type TargetKind = typeof TARGET_KINDS[number];

/** Shown instead of a stored secret. A change with this value keeps the secret. */
export const HIDDEN = "***";

const timestamp = z.iso.datetime();
const text = (max: number) => z.string().trim().max(max).nullable();
const hidden = z.literal(HIDDEN).nullable().meta({
  enum: [HIDDEN, null],
  description: `"${HIDDEN}" instead of the stored value; null for the other kind`,
});
const place = {
  endpoint: text(2_000).describe("Base URL of the S3 API; only for s3"),
  region: text(100).describe("Only for s3; absent at creation: us-east-1"),
  bucket: text(63),
  prefix: text(512).describe("Folder in the bucket; target paths are below it"),
  pathStyle: z.boolean().nullable().describe(
    "true (the default): endpoint/bucket/key; false: bucket.endpoint/key",
  ),
  accessKeyId: text(200),
};
const secrets = {
  secretAccessKey: z.string().max(500).nullable().describe("Only for s3; never shown"),
  webhookUrl: text(2_000).describe("Only for slack; never shown"),
};

export const TargetDto = z.object({
  id: z.guid(),
  name: z.string(),
  kind: z.enum(TARGET_KINDS),
  endpoint: z.string().nullable(),
  region: z.string().nullable(),
  bucket: z.string().nullable(),
  prefix: z.string().nullable(),
  pathStyle: z.boolean().nullable(),
  accessKeyId: z.string().nullable(),
  secretAccessKey: hidden,
  webhookUrl: hidden,
  createdBy: z.guid().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
}).meta({ id: "ReportTargetDto" });
export type Target = z.output<typeof TargetDto>;

const fields = z.object({ ...place, ...secrets }).partial();
const kind = enumName(TARGET_KINDS);
export const CreateTarget = z.object({ name: requiredName(200), kind, ...fields.shape }).meta({
  id: "CreateReportTargetDto",
});
export const UpdateTarget = z.object({ name: requiredName(200), kind, ...fields.shape }).partial().meta({
  id: "UpdateReportTargetDto",
  description: `Members left out keep their value, and so does a secret sent as "${HIDDEN}"`,
});
export type TargetFields = z.output<typeof fields> & { name: string; kind: TargetKind };

/** The stored settings of a target, without its secret. */
export type TargetPlace = Pick<Target, keyof typeof place>;

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

type Keys = Pick<Platform["config"], "TARGET_KEYS">;

/** A target with its decrypted secret: for deliveries only. */
export type OpenTarget = TargetPlace & { id: string; name: string; kind: TargetKind; secret: string };

/** @throws REPORT_TARGET_UNAVAILABLE without TARGET_KEYS */
function secretBox({ TARGET_KEYS }: Keys): SecretBox {
  if (TARGET_KEYS) return createSecretBox(TARGET_KEYS);
  throw problem("REPORT_TARGET_UNAVAILABLE", "Report targets are off: the service has no TARGET_KEYS.");
}

/** Encrypts the secret of a target for storage. @throws REPORT_TARGET_UNAVAILABLE */
export const sealSecret = (keys: Keys, targetId: string, secret: string): string =>
  secretBox(keys).encrypt(new TextEncoder().encode(secret), targetId);

/** Reads a target of the tenant with its secret; null if it was deleted. @throws REPORT_TARGET_UNAVAILABLE, DecryptionFailed */
export async function openTarget(
  { config }: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<OpenTarget | null> {
  const [row] = await q<OpenTarget[]>`
    select id, name, kind, endpoint, region, bucket, prefix, path_style, access_key_id, secret from report_targets
    where id = ${id} and tenant_id = ${tenantId}`;
  if (!row) return null;
  return { ...row, secret: new TextDecoder().decode(secretBox(config).decrypt(row.secret, id)) };
}
