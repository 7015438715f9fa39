import { lockNamed } from "../../infra/postgres/advisory_locks.ts";
import { z } from "zod";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { urlMistake } from "../../infra/http_out/addresses.ts";
import { isNear } from "../../infra/similar_names.ts";
import { invalid, problem } from "../problems/problem.ts";
import { type RecordContext, type RecordSource, recordType } from "../records/record_type.ts";
import { tableSource } from "../records/table_source.ts";
import { isSystemAdmin, type TenantCaller } from "../rights/caller.ts";
import { definedMembers } from "../shared/defined_members.ts";
import { newId } from "../shared/ids.ts";
import { enumName, storedText } from "../shared/shapes.ts";
import { requireVersion, type Versioned } from "../shared/version.ts";
import { EVERY_TYPE, ownTypeMistake } from "./event_types.ts";
import { subscriptionsChanged } from "./job_events.ts";
import { LAST_DAY } from "./endpoint_health.ts";
import { releaseHeld } from "./release_held.ts";
import { issueSecret, OLD_SECRET_HOURS } from "./signing_secrets.ts";

/** Each event is compared with all endpoints of its tenant, and may become a delivery of each. */
const MAX_ENDPOINTS = 100;

const timestamp = z.iso.datetime();
const url = z.string().trim().min(1).max(2000);
const description = storedText(2000).nullable();
const TYPES_EXPECTED =
  `expected "${EVERY_TYPE}", or a list of event types: those of GET /api/v1/webhook-events/types and own ones`;
const eventTypes = z.union([
  z.literal(EVERY_TYPE),
  z.array(z.string()).min(1).max(100),
], { error: TYPES_EXPECTED })
  .transform((given): string[] => [given].flat().includes(EVERY_TYPE) ? [EVERY_TYPE] : [...new Set(given)])
  .describe(`Event types, or "${EVERY_TYPE}" for all`);

const ordered = z.boolean().describe(
  "Of two events about one object, the later is sent after the earlier was delivered or given up",
);

/** The secret, returned when an endpoint is created and when its secret is replaced. */
export const signingSecret = z.string().describe("Signing key (Standard Webhooks); shown only once");

const result = z.object({
  id: z.guid(),
  url: z.string(),
  description: z.string().nullable(),
  eventTypes: z.array(z.string()),
  tenants: z.literal("all").nullable().meta({
    enum: ["all", null],
    description: `"all": events of all tenants; null: of its own`,
  }),
  ordered,
  isActive: z.boolean(),
  disabledReason: z.enum(["Gone", "Failing"]).nullable().describe(
    "Why the service deactivated it: it answered 410 (Gone), or failed for days (Failing)",
  ),
  failingSince: timestamp.nullable().describe(
    "When the current series of failures began; null if the last delivery succeeded",
  ),
  lastError: z.string().nullable().describe("Why the last failed attempt failed"),
  lastErrorAt: timestamp.nullable(),
  lastDay: z.object({
    delivered: z.int(),
    failed: z.int(),
    successRate: z.number().nullable().describe("From 0 to 1; null: no attempt"),
  }).meta({ id: "WebhookAttemptsDto", description: "Attempts of the last 24 hours, counted by whole hours" }),
  pausedAt: timestamp.nullable().describe("While it is set, deliveries wait"),
  pausedBy: z.guid().nullable(),
  pauseReason: z.string().nullable(),
  createdBy: z.guid().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  secret: signingSecret.optional(),
}).meta({ id: "WebhookEndpointDto" });

const tenants = enumName(["all"], 'expected "all" or null').nullable()
  .meta({ enum: ["all", null], description: `"all": events of all tenants; needs admin:system` });

const create = z.object({
  url,
  description: description.default(null),
  eventTypes,
  tenants: tenants.default(null),
  ordered: ordered.default(false),
  isActive: z.boolean().default(true),
}).meta({
  id: "CreateWebhookEndpointDto",
  description: `A tenant has at most ${MAX_ENDPOINTS} endpoints`,
});

const update = z.object({ url, description, eventTypes, tenants, ordered, isActive: z.boolean() }).partial()
  .meta({
    id: "UpdateWebhookEndpointDto",
    description: "Members left out keep their value",
  });

const yesOrNo = z.stringbool({ truthy: ["true"], falsy: ["false"] }).optional();

/** A webhook endpoint as callers see it. */
export type Endpoint = z.output<typeof result>;
type Commands = RecordSource<Endpoint, z.output<typeof create>, z.output<typeof update>>;

const NOT_FOUND = "WEBHOOK_ENDPOINT_NOT_FOUND";

/** A platform endpoint shows events of all tenants, so that only holders of admin:system see it and its deliveries. */
const isVisible = (caller: TenantCaller): string =>
  `deleted_at is null and ${isSystemAdmin(caller) ? "true" : "not all_tenants"}`;

const table = tableSource<Endpoint, Record<string, never>, Record<string, never>>({
  one: "webhookEndpoint",
  table: "webhook_endpoints",
  columns: {
    id: "id",
    url: "url",
    description: "description",
    eventTypes: "event_types",
    tenants: "case when all_tenants then 'all' end",
    ordered: "ordered",
    isActive: "is_active",
    disabledReason: "disabled_reason",
    failingSince: "failing_since",
    lastError: "last_error",
    lastErrorAt: "last_error_at",
    lastDay: LAST_DAY,
    pausedAt: "paused_at",
    pausedBy: "paused_by",
    pauseReason: "pause_reason",
    createdBy: "created_by",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
  writable: {},
  search: "search_text",
  sorts: { createdAt: "created_at", url: "url" },
  filters: { isActive: "is_active", isFailing: "is_failing", isPaused: "(paused_at is not null)" },
  softDeleted: false,
  visible: isVisible,
  notFound: NOT_FOUND,
});

/** Reads one endpoint of the caller's tenant. @throws WEBHOOK_ENDPOINT_NOT_FOUND */
export const readEndpoint = table.read;

const commands: Commands = {
  list: table.list,
  read: table.read,
  // An endpoint may have a million deliveries. The upkeep deletes them in batches, see `deleteRemoved`.
  async remove(tx, caller, id, ifMatch) {
    const { value: before } = await lockEndpoint(tx, caller, id, ifMatch);
    await tx`update webhook_endpoints set deleted_at = now(), is_active = false, disabled_reason = null,
      failing_since = null, updated_at = now() where id = ${id}`;
    await tx`delete from webhook_secrets where endpoint_id = ${id}`;
    subscriptionsChanged(tx);
    await auditEndpoint(tx, caller, "delete", id, { before });
  },
  async create(p, tx, caller, input) {
    requireUrl(input.url, p.config.OUTBOUND_ALLOW);
    requireKnownTypes(input.eventTypes, p.eventTypes);
    requireMayServe(caller, input.tenants);
    await requireRoom(tx, caller.tenantId);
    const id = newId();
    await tx`insert into webhook_endpoints (id, tenant_id, url, description, event_types, all_tenants, ordered,
        is_active, created_by)
      values (${id}, ${caller.tenantId}, ${input.url}, ${input.description}, ${input.eventTypes}::text[],
        ${input.tenants === "all"}, ${input.ordered}, ${input.isActive}, ${caller.userId})`;
    subscriptionsChanged(tx);
    const secret = await issueSecret(tx, id);
    const { value, version } = await table.read(tx, caller, id);
    await auditEndpoint(tx, caller, "create", id, { after: value });
    return { value: { ...value, secret }, version };
  },
  async update(p, tx, caller, id, input, ifMatch) {
    if (input.url !== undefined) requireUrl(input.url, p.config.OUTBOUND_ALLOW);
    if (input.eventTypes !== undefined) requireKnownTypes(input.eventTypes, p.eventTypes);
    requireMayServe(caller, input.tenants ?? null);
    const { value: before, version } = await lockEndpoint(tx, caller, id, ifMatch);
    const health = input.isActive === undefined ? {} : { disabledReason: null, failingSince: null };
    const isMoved = input.url !== undefined && input.url !== before.url;
    const changed: Endpoint = {
      ...before,
      ...definedMembers(input),
      ...(isMoved ? { failingSince: null } : {}),
      ...health,
    };
    if (JSON.stringify(changed) === JSON.stringify(before)) return { value: before, version };
    const isOfAll = changed.tenants === "all";
    await tx`update webhook_endpoints set url = ${changed.url}, description = ${changed.description},
      event_types = ${changed.eventTypes}::text[], all_tenants = ${isOfAll}, ordered = ${changed.ordered},
      is_active = ${changed.isActive}, disabled_reason = ${changed.disabledReason}, failing_since = ${changed.failingSince},
      version = version + 1, updated_at = now() where id = ${id}`;
    subscriptionsChanged(tx);
    if (before.ordered && !changed.ordered) {
      await releaseHeld(p, tx, { endpointId: id, tenantId: caller.tenantId });
    }
    const after = await table.read(tx, caller, id);
    await auditEndpoint(tx, caller, "update", id, { before, after: after.value });
    return after;
  },
};

/** Checks that the tenant may have a further endpoint. A lock makes concurrent creations count one after the other. */
async function requireRoom(tx: Tx, tenantId: string): Promise<void> {
  await lockNamed(tx, "webhookEndpoints", tenantId);
  const { count } = await tx`
    select from webhook_endpoints where tenant_id = ${tenantId} and deleted_at is null limit ${MAX_ENDPOINTS}`;
  if (count < MAX_ENDPOINTS) return;
  throw problem("WEBHOOK_ENDPOINT_LIMIT_CONFLICT", `The tenant has ${count} webhook endpoints already.`);
}

/** A tenant's webhook endpoints: the URLs that events are sent to. Deleting one also deletes its deliveries. */
export const webhookEndpoints = recordType({
  one: "webhookEndpoint",
  many: "webhookEndpoints",
  path: "webhook-endpoints",
  area: "Webhook endpoints",
  managedBy: "manage:webhooks",
  showsSecret: true,
  readBy: "manage:webhooks", // some receivers accept a request from anyone who knows their URL
  result,
  create,
  update,
  query: z.object({
    isActive: yesOrNo,
    isFailing: yesOrNo.describe("Failing now, or deactivated for it"),
    isPaused: yesOrNo,
  }),
  sortable: ["createdAt", "url"],
  notFound: NOT_FOUND,
  problems: ["WEBHOOK_ENDPOINT_LIMIT_CONFLICT"],
  deleteProblems: [],
  source: commands,
});

/**
 * Gives an endpoint a new secret. The old one also signs for OLD_SECRET_HOURS, so that the receiver has time to switch.
 * @throws WEBHOOK_ENDPOINT_NOT_FOUND, PRECONDITION_FAILED
 */
export async function rotateSecret(
  tx: Tx,
  caller: TenantCaller,
  id: string,
): Promise<{ secret: string; oldSecretHours: number }> {
  await lockEndpoint(tx, caller, id, null);
  const secret = await issueSecret(tx, id);
  await auditEndpoint(tx, caller, "rotate-secret", id, {});
  return { secret, oldSecretHours: OLD_SECRET_HOURS };
}

/** Reads an endpoint of the caller's tenant and locks its row. @throws WEBHOOK_ENDPOINT_NOT_FOUND, PRECONDITION_FAILED */
export async function lockEndpoint(
  tx: Tx,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<Versioned<Endpoint>> {
  const visible = tx.unsafe(isVisible(caller));
  const [row] = await tx<{ version: number }[]>`select version from webhook_endpoints
    where id = ${id} and tenant_id = ${caller.tenantId} and ${visible} for no key update`;
  if (!row) throw problem(NOT_FOUND, `The tenant has no webhook endpoint ${id}.`);
  requireVersion(ifMatch, row.version);
  return await table.read(tx, caller, id);
}

/** Checks that the caller may make an endpoint for these tenants. @throws MISSING_PERMISSION */
function requireMayServe(caller: TenantCaller, tenants: "all" | null): void {
  if (tenants === null || isSystemAdmin(caller)) return;
  throw problem(
    "MISSING_PERMISSION",
    "An endpoint of all tenants needs admin:system, which the caller does not hold.",
  );
}

function requireUrl(url: string, allow: string | null): void {
  const mistake = urlMistake(url, allow);
  if (mistake) throw invalid({ url: [mistake] });
}

function requireKnownTypes(given: string[], known: RecordContext["eventTypes"]): void {
  const unknown = given.filter((type) => type !== EVERY_TYPE && !known.has(type));
  for (const type of unknown) {
    if (ownTypeMistake(type, known)) throw invalid({ eventTypes: [TYPES_EXPECTED] });
    const near = [...known.keys()].find((name) => isNear(name, type));
    if (near) throw invalid({ eventTypes: [`unknown type "${type}"; did you mean "${near}"?`] });
  }
}

/** Writes the audit row of a change of an endpoint, without counts of deliveries. */
export const auditEndpoint = (
  tx: Tx,
  caller: TenantCaller,
  verb: string,
  id: string,
  change: {
    before?: Partial<Endpoint> | Record<string, unknown>;
    after?: Partial<Endpoint> | Record<string, unknown>;
  },
) => recordAudit(tx, caller, `webhookEndpoint.${verb}`, id, { ...change });
