import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { uniqueProblem } from "../../records/derived_problems.ts";
import { type RecordSource, recordType } from "../../records/record_type.ts";
import { tableSource } from "../../records/table_source.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { enumName } from "../../shared/shapes.ts";
import { requireVersion } from "../../shared/version.ts";
import { connectTarget, outcomeOfStore, targetKey } from "./bucket_delivery.ts";
import { postToSlack } from "./slack_delivery.ts";
import type { Outcome } from "./delivery.ts";
import { type DeliveryOptions, METHOD } from "./options.ts";
import {
  checkTarget,
  CreateTarget,
  HIDDEN,
  type OpenTarget,
  openTarget,
  sealSecret,
  type Target,
  TARGET_KINDS,
  TargetDto,
  type TargetFields,
  type TargetKind,
  type TargetPlace,
  UpdateTarget,
} from "./target.ts";
import { NO_SECRET, readSigningSecrets } from "./webhook_secrets.ts";

export type { TargetKind } from "./target.ts";

const NOT_FOUND = "REPORT_TARGET_NOT_FOUND";

const table = tableSource<Target, Record<string, never>, Record<string, never>>({
  one: "reportTarget",
  table: "report_targets",
  columns: {
    id: "id",
    name: "name",
    kind: "kind",
    endpoint: "endpoint",
    region: "region",
    bucket: "bucket",
    prefix: "prefix",
    pathStyle: "path_style",
    accessKeyId: "access_key_id",
    secretAccessKey: `case when kind = 's3' then '${HIDDEN}' end`,
    webhookUrl: `case when kind = 'slack' then '${HIDDEN}' end`,
    createdBy: "created_by",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
  writable: {},
  search: "fold(name)",
  sorts: { name: "same_text(name)", createdAt: "created_at" },
  filters: { kind: "kind" },
  softDeleted: false,
  notFound: NOT_FOUND,
});

type Commands = RecordSource<Target, z.output<typeof CreateTarget>, z.output<typeof UpdateTarget>>;

const commands: Commands = {
  list: table.list,
  read: table.read,
  remove: table.remove,
  async create({ config }, tx, caller, input) {
    const id = newId();
    // On creation there is no secret to keep.
    const { secretAccessKey, webhookUrl } = Object.fromEntries(
      Object.entries(input).map(([field, value]) => [field, value === HIDDEN ? null : value]),
    ) as typeof input;
    const place = checkTarget({ ...input, secretAccessKey, webhookUrl }, config.OUTBOUND_ALLOW);
    const secret = sealSecret(config, id, secretAccessKey ?? webhookUrl ?? "");
    await tx`
      insert into report_targets (id, tenant_id, name, kind, endpoint, region, bucket, prefix, path_style,
        access_key_id, secret, created_by)
      values (${id}, ${caller.tenantId}, ${input.name}, ${input.kind}, ${place.endpoint}, ${place.region},
        ${place.bucket}, ${place.prefix}, ${place.pathStyle}, ${place.accessKeyId}, ${secret}, ${caller.userId})`;
    const created = await table.read(tx, caller, id);
    await recordAudit(tx, caller, "reportTarget.create", id, { after: created.value });
    return created;
  },
  async update({ config }, tx, caller, id, input, ifMatch) {
    const { before, version, secret: sealed } = await lockTarget(tx, caller, id, ifMatch);
    if (input.kind !== undefined && input.kind !== before.kind) {
      throw invalid({ kind: [`the kind cannot be changed; expected ${before.kind}`] });
    }
    const changed = { ...before, ...definedMembers(input) } as TargetFields;
    const place = checkTarget(changed, config.OUTBOUND_ALLOW);
    const sent = changed.kind === "s3" ? changed.secretAccessKey : changed.webhookUrl;
    const secret = sent && sent !== HIDDEN ? sealSecret(config, id, sent) : sealed;
    if (secret === sealed && changed.name === before.name && isSamePlace(place, before)) {
      return { value: before, version };
    }
    await tx`
      update report_targets set name = ${changed.name}, endpoint = ${place.endpoint}, region = ${place.region},
        bucket = ${place.bucket}, prefix = ${place.prefix}, path_style = ${place.pathStyle},
        access_key_id = ${place.accessKeyId}, secret = ${secret}, version = version + 1, updated_at = now()
      where id = ${id}`;
    const after = await table.read(tx, caller, id);
    const hasNewSecret = secret !== sealed;
    await recordAudit(tx, caller, "reportTarget.update", id, {
      before,
      after: { ...after.value, hasNewSecret },
    });
    return after;
  },
};

/** A tenant's targets for report deliveries. Every caller in the tenant may choose one, so all may read them. */
export const reportTargets = recordType({
  one: "reportTarget",
  many: "reportTargets",
  path: "report-targets",
  area: "Reports",
  managedBy: "manage:webhooks",
  result: TargetDto,
  create: CreateTarget,
  update: UpdateTarget,
  query: z.object({ kind: enumName(TARGET_KINDS).optional() }),
  sortable: ["name", "createdAt"],
  notFound: NOT_FOUND,
  problems: [
    "REPORT_TARGET_UNAVAILABLE",
    ...uniqueProblem("reportTarget", {
      report_targets_name_unique: "The tenant already has a report target with this name.",
    }, "report_targets"),
  ],
  deleteProblems: [],
  source: commands,
});

/** Name and kind of a target of the tenant; null if there is none. */
export async function findTarget(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<{ name: string; kind: TargetKind } | null> {
  const [target] = await q<{ name: string; kind: TargetKind }[]>`
    select name, kind from report_targets where id = ${id} and tenant_id = ${tenantId}`;
  return target ?? null;
}

/** Finds the tenant's Slack target with this name, and opens its secret. Returns null if the tenant has none. */
export async function findSlackTarget(
  p: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
  name: string,
): Promise<OpenTarget | null> {
  const [target] = await q<{ id: string }[]>`
    select id from report_targets where tenant_id = ${tenantId} and kind = 'slack' and same_text(name) = same_text(${name})`;
  return target ? await openTarget(p, q, tenantId, target.id) : null;
}

async function lockTarget(tx: Tx, caller: TenantCaller, id: string, ifMatch: string | null) {
  const [row] = await tx<{ version: number; secret: string }[]>`
    select version, secret from report_targets
    where id = ${id} and tenant_id = ${caller.tenantId} for no key update`;
  if (!row) throw problem(NOT_FOUND, `The tenant has no report target ${id}.`);
  requireVersion(ifMatch, row.version);
  const { value, version } = await table.read(tx, caller, id);
  return { before: value, version, secret: row.secret };
}

const isSamePlace = (after: TargetPlace, before: Target): boolean =>
  Object.entries(after).every(([field, value]) => before[field as keyof TargetPlace] === value);

const TRIAL_PATH = "steward-test.txt";
const TEXT = "A test of this report target. Reports can be delivered here.";

/**
 * Writes a small object `steward-test.txt` into the bucket and deletes it again, or posts a test message.
 * @returns null if that succeeded, otherwise the reason
 * @throws REPORT_TARGET_NOT_FOUND, REPORT_TARGET_UNAVAILABLE
 */
export async function tryTarget(p: Platform, caller: TenantCaller, id: string): Promise<string | null> {
  const target = await openTarget(p, p.sql, caller.tenantId, id);
  if (!target) throw problem("REPORT_TARGET_NOT_FOUND", `The tenant has no report target ${id}.`);
  const outcome = target.kind === "slack"
    ? await postToSlack(p, target.secret, TEXT)
    : await tryBucket(p, target);
  const reason = outcome.status === "Delivered" ? null : outcome.reason;
  await transact(
    p.sql,
    (tx) => recordAudit(tx, caller, "reportTarget.test", id, { after: { succeeded: reason === null } }),
  );
  return reason;
}

async function tryBucket(p: Platform, target: OpenTarget): Promise<Outcome> {
  const store = connectTarget(p, target);
  const key = targetKey(target, TRIAL_PATH);
  try {
    await store.write(key, ReadableStream.from([new TextEncoder().encode(TEXT)]), {
      contentType: "text/plain",
    });
  } catch (error) {
    return outcomeOfStore(error);
  }
  await store.delete(key).catch(() => undefined); // credentials that may only write are enough for deliveries
  return { status: "Delivered" };
}

/** The kind of target that a delivery method needs. */
const KINDS: Partial<Record<number, TargetKind>> = { [METHOD.Storage]: "s3", [METHOD.Webhook]: "slack" };

/**
 * Checks that the tenant has the target that delivery options name, and for signed webhooks a secret.
 * @throws VALIDATION_ERROR on `delivery.targetId` or `delivery.method`
 */
export async function requireReceiver(
  p: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
  delivery: DeliveryOptions | null,
): Promise<void> {
  if (!delivery) return;
  const { method, targetId, webhookFormat } = delivery;
  if (targetId !== undefined) {
    const target = await findTarget(q, tenantId, targetId);
    if (!target) throw invalid({ "delivery.targetId": [`the tenant has no report target ${targetId}`] });
    const kind = KINDS[method];
    if (target.kind === kind) return;
    throw invalid({
      "delivery.targetId": [`the target is of kind ${target.kind}; method ${method} needs ${kind}`],
    });
  }
  if (method !== METHOD.Webhook || webhookFormat === "slack") return;
  const secrets = await readSigningSecrets(p, q, tenantId);
  if (secrets.length === 0) throw invalid({ "delivery.method": [NO_SECRET] });
}
