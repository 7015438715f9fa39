import { z } from "zod";
import { requiredName } from "../../shared/shapes.ts";

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
const kind = z.enum(TARGET_KINDS);
export const CreateTarget = z.object({ name: requiredName(200), kind, ...fields.shape }).meta({
  id: "CreateReportTargetDto",
});
export const UpdateTarget = z.object({ name: requiredName(200), kind, ...fields.shape }).partial().meta({
  id: "UpdateReportTargetDto",
  description: `Members left out keep their value, and so does a secret sent as "${HIDDEN}"`,
});
export type TargetFields = z.output<typeof fields> & { name: string; kind: TargetKind };
