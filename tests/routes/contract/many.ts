// Several objects of every kind, with different values, so that lists have pages, orders and filters to show.
import { RECORDS } from "../../../domain/records/records.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { MARKER } from "../../support/isolation.ts";
import { type Kind, KINDS, makeObjects } from "../isolation/world.ts";
import type { Contract } from "./contract.ts";

/** Kinds with one object only, and parts of another object. */
const SINGLE: Kind[] = ["tenant", "factor", "session"];
const PARTS: Kind[] = ["reference", "webhookDelivery"];
const MANY = 5;

/** Tables of the objects of some kinds whose lists can be sorted by the time of creation. */
const SORTED: Partial<Record<Kind, string>> = {
  apiKey: "api_keys",
  serviceAccount: "service_accounts",
  oauthClient: "oauth_clients",
  user: "users",
  role: "roles",
  permission: "permissions",
  reportTarget: "report_targets",
  ...Object.fromEntries(RECORDS.map(({ one, table }) => [one, table])),
  webhookEndpoint: "webhook_endpoints",
};

type Row = Record<string, unknown>;
const later = new Date("2090-01-01T00:00:00Z");
const once = new Date("2020-01-01T00:00:00Z");
const earlier = new Date("2010-01-01T00:00:00Z");

export async function makeMany(c: Contract): Promise<void> {
  const { world } = c;
  const { sql, ids, victim } = world;
  const kinds = KINDS.filter((kind) => !SINGLE.includes(kind) && !PARTS.includes(kind));
  const made = new Map<Kind, string[]>();
  for (let n = 1; n < MANY; n++) {
    const objects = await makeObjects(world, kinds, ids, n);
    await makeObjects(world, PARTS, ids, n);
    for (const kind of kinds) made.set(kind, [...made.get(kind) ?? [], objects[kind]]);
  }
  /** Changes the objects that were made of a kind, the first with the first change, and so on. */
  const change = async (kind: Kind, table: string, ...changes: Row[]) => {
    for (const [index, row] of changes.entries()) {
      const id = made.get(kind)?.[index] ?? "";
      await sql`update ${sql(table)} set ${sql(row)} where id = ${id}`;
    }
  };
  const insert = (table: string, ...rows: Row[]) => sql`insert into ${sql(table)} ${sql(rows)}`;
  const call = async (id: string, params: Record<string, string>, body?: unknown) => {
    const spec = c.endpoint(id);
    const { status } = await c.send(c.by(spec), spec, { params, ...body === undefined ? {} : { body } });
    if (status >= 400) throw new Error(`${id}: ${status}`);
  };
  for (const [kind, table] of Object.entries(SORTED) as [Kind, string][]) {
    // three of the same time, written in another order than that of their ids
    for (const id of [2, 0, 1].map((n) => made.get(kind)?.[n] ?? "")) {
      await sql`update ${sql(table)} set created_at = ${once} where id = ${id}`;
    }
  }
  for (const kind of ["apiKey", "serviceAccount", "oauthClient"] as const) {
    await change(kind, SORTED[kind] ?? "", ...[once, later, earlier].map((at) => ({ last_used_at: at })));
  }
  await change(
    "user",
    "users",
    { last_name: "C", last_login_at: once, is_active: false },
    { last_name: "A", last_login_at: later, lockout_expires_at: later },
    { last_name: "B", last_login_at: earlier },
  );
  const [one = "", two = "", three = ""] = made.get("user") ?? [];
  const holders = [[one, 0], [two, 0], [one, 1]] as const;
  await insert(
    "user_tenant_roles",
    ...holders.map(([user_id, n]) => ({
      user_id,
      tenant_id: victim.tenantId,
      role_id: made.get("role")?.[n],
    })),
  );
  const people = { tenant_id: ids.tenant, user_id: victim.userId, actor_id: ids.user };
  const delegation = { ...people, reason: MARKER, may_write: false, minutes: 5, status: "Refused" };
  await insert("delegations", ...Array.from({ length: MANY }, () => ({ id: newId(), ...delegation })));
  const marks = Array.from({ length: MANY }, (_, n) => ({ id: newId(), label: `${MARKER} ${n}`, at: once }));
  await insert("deploy_marks", ...marks);
  const factor = { user_id: one, kind: "totp", name: MARKER, confirmed_at: once, secret: MARKER };
  await insert("user_factors", { id: newId(), ...factor });
  await change("alertRule", "alert_rules", { state: "Ok" }, { state: "Firing" });
  await insert(
    "usage_months",
    ...[3, 1, 2, 5, 4].map((n) => ({
      month: `2025-0${n}-01`,
      tenant_key: victim.tenantId,
      storage_bytes: 10 * n,
      mails: 6 - n,
      jobs: (n * 2) % 5,
      reports: (n * 3) % 5,
    })),
  );
  await change("invitation", "invitations", { status: "Revoked" }, { status: "Accepted", accepted_at: once });
  await change("schedule", "report_schedules", { is_active: false, next_run_at: null });
  const store = {
    endpoint: "https://s3.example.test",
    region: "r",
    bucket: "b",
    prefix: "",
    path_style: true,
  };
  await change("reportTarget", "report_targets", { kind: "s3", ...store, access_key_id: "k" });
  await change("job", "jobs", { started_at: later, completed_at: earlier }, { started_at: once }, {
    started_at: earlier,
    completed_at: later,
  }, { started_at: earlier, completed_at: once });
  await call("cancelJob", { id: made.get("job")?.[0] ?? "" });
  await call("enqueueJob", {}, { jobTypeName: "steward.echo", parentJobId: made.get("job")?.[1] });
  await call("addToJobBatch", { id: ids.jobBatch }, {
    jobs: [1, 2, 3].map(() => ({ jobTypeName: "steward.echo" })),
  });
  await call("cancelJobBatch", { id: made.get("jobBatch")?.[0] ?? "" });
  const four = (row: (n: number) => Row) => [1, 2, 3, 4].map(row);
  const ended = { started_at: once, completed_at: once };
  const attempt = { job_id: ids.job, tenant_id: victim.tenantId, status: "Failed", ...ended };
  await insert("job_attempts", ...four((n) => ({ ...attempt, attempt_number: n, worker_id: newId() })));
  await sql`update jobs set attempts = 4 where id = ${ids.job}`;
  const line = { job_id: ids.job, attempt_number: 1, at: once, level: "info" };
  await insert("job_log_lines", ...four((n) => ({ ...line, line_number: n, message: `line ${n}` })));
  const scan = { file_id: ids.file, verdict: "Clean", ...ended };
  await insert("file_scan_attempts", ...four((n) => ({ ...scan, attempt_number: n })));
  await change("file", "files", { legal_hold: true, legal_hold_since: once }, {
    retention_class: "Permanent",
  }, {
    status: "Purged",
    purge_reason: "r",
    purged_at: once,
  });
  await change("notification", "notifications", { status: "Sent", sent_at: once }, { channel: "Sms" }, {
    delivery_state: "Bounced",
    category: "news",
  });
  await change("template", "notification_templates", { kind: "Layout", version: 2 }, {
    kind: "Partial",
    version: 2,
  });
  for (const name of ["A", "B", "C"]) {
    await call("updateNotificationTemplate", { id: ids.template }, { templateId: ids.template, name });
    await call("updateDocumentTemplate", { id: ids.documentTemplate }, { name });
  }
  const tenants = ["D", "B", "C", "A"].map((letter, n) => ({
    id: newId(),
    name: `${MARKER} ${letter}`,
    type: n === 0 ? "Group" : "Standard",
    is_active: n !== 1,
    created_at: n === 0 ? earlier : once,
  }));
  await insert("tenants", ...tenants.toReversed());
  await sql`update tenants set type = 'Group' where id = ${tenants[2]!.id}`;
  await insert("user_tenants", ...tenants.map(({ id }) => ({ user_id: victim.userId, tenant_id: id })));
  await insert("user_tenants", ...[two, three].map((user_id) => ({ user_id, tenant_id: tenants[2]?.id })));
  const started = {
    created_by: c.t.systemAdmin.userId,
    is_service_account: false,
    permissions: ["admin:system"],
  };
  const users = { tenant_id: null, file_id: ids.file, trace_id: "t", ...started };
  await insert("user_imports", ...[1, 2, 3].map((n) => ({ id: newId(), ...users, is_dry_run: n === 1 })));
}
