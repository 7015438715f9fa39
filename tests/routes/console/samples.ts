import assert from "node:assert/strict";
import { pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { creationOf } from "../../support/record_samples.ts";
import type { TestService } from "../../support/setup.ts";
import { reached, STATUS } from "../reports/support.ts";

/**
 * Creates one object for every kind of page with an id, in the platform tenant.
 * @returns ids by what stands before the id in the paths, or by its first segment: `jobs` for `jobs/{id}` and below.
 */
export async function makeSamples(t: TestService): Promise<Record<string, string>> {
  const { systemAdmin } = t;
  const make = async (path: string, body: unknown): Promise<string> => {
    const answer = await systemAdmin.post(`/api/v1/${path}`, body);
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.id ?? answer.body.notificationId;
  };
  /** A long text without spaces, and an element that a page would show if it did not escape the text. */
  const long = `<x-hostile onhostile='1' onhostile="2">&amp;Ação-que-não-se-parte-em-lado-nenhum-`.padEnd(
    120,
    "x",
  );
  const job = await make("jobs", {
    jobTypeName: "steward.fail",
    serializedArgs: JSON.stringify({ message: `${long} <b>failed</b>` }),
    maxRetries: 0,
  });
  await t.settled(job);
  const { body: dead } = await systemAdmin.get("/api/v1/dead-letter-jobs");
  const recurring = "month-end:invoices-".padEnd(100, "x");
  await make("recurring-jobs", {
    jobId: recurring,
    jobTypeName: "steward.echo",
    cronExpression: "30 3 * * *",
    timeZoneId: "Europe/Lisbon",
    serializedArgs: "{}",
  });
  const { body: sent } = await systemAdmin.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "zoe@example.test", displayName: "Zoë" }],
    subject: long,
    htmlBody: "<p>Olá Zoë</p><table><tr><td>29,90 €</td></tr></table>",
  });
  await make("notifications/send", {
    channel: "InApp",
    recipients: [{ address: systemAdmin.userId }],
    subject: long,
    textBody: "lines\nof text",
    priority: "Critical",
  });
  await make("notification-suppressions", { channel: "Email", address: "dead@example.test", detail: long });
  const template = await make("notification-templates", {
    slug: "order-shipped",
    name: long,
    locale: "pt",
    subjectTemplate: "{{ number }}",
    htmlBodyTemplate: "<p>{{ name }}</p>",
  });
  const run = await make("reports/generate-async", { templateId: "users", format: 3 });
  const report = await reached(systemAdmin, run, STATUS.Completed);
  const schedule = await make("reports/schedules", {
    templateId: "users",
    name: long.slice(0, 100),
    format: 3,
    cronExpression: "0 8 * * 1-5",
    timeZoneId: "Europe/Lisbon",
  });
  const group = await t.tenant({ name: long, type: "Group" });
  await t.tenant({ name: "日本支社", parentTenantId: group });
  const [imported] = await t.steward.platform.sql<{ id: string }[]>`
    insert into user_imports (id, tenant_id, file_id, is_dry_run, created_by, is_service_account, acting_tenant_id,
      permissions, trace_id, status, finished_at, total)
    values (gen_random_uuid(), ${t.platformTenantId}, ${report.storedFileId}, true, ${systemAdmin.userId}, false,
      ${t.platformTenantId}, '{}', '', 'Completed', now(), 0) returning id`;
  const visitor = await t.actor({ tenantId: t.platformTenantId, role: "Visitor" });
  const program = { name: long, permissions: ["read:users"] };
  return {
    jobs: job,
    batches: await make("jobs/batches", { name: long, jobs: [{ jobTypeName: "steward.echo" }] }),
    "dead-letters": dead.items[0].id,
    recurring,
    notifications: sent.notificationId ?? sent.id,
    templates: template,
    reports: "users",
    "report-runs": run,
    "report-schedules": schedule,
    files: report.storedFileId,
    "job-types": "steward.fail",
    queues: "default",
    deploys: await make("operations/marks", { label: long }),
    tenants: group,
    "tenants/sign-in/providers": await makeProvider(t),
    "work-in": group,
    users: visitor.userId,
    "user-imports": imported?.id ?? "",
    roles: await make("roles", { name: "Support desk", description: long, permissionIds: [] }),
    permissions: await make("permissions", { code: "approve:invoices", category: "Invoices" }),
    ...await makeRecords(make, long),
    "api-keys": await make("api-keys", program),
    "service-accounts": await make("service-accounts", { ...program, tenants: "all" }),
    "oauth-clients": await make("oauth-clients", {
      name: "Orders",
      kind: "confidential",
      redirectUris: ["https://orders.test/callback"],
      audience: "https://orders.test",
    }),
    "report-targets": await make("report-targets", {
      name: long.slice(0, 100),
      kind: "slack",
      webhookUrl: "https://hooks.example.test/x",
    }),
    webhooks: await make("webhook-endpoints", { url: "http://127.0.0.1:9/hook", eventTypes: ["*"] }),
    "document-templates": await make("document-templates", {
      slug: "sample-document",
      name: "Sample document",
      titleTemplate: "Document {{number}}",
      bodyTemplate: "<page><h1>Document {{number}}</h1></page>",
      sampleData: { number: 7 },
    }),
  };
}

/** A provider of the platform tenant, which the API makes for other tenants only. */
async function makeProvider({ steward, platformTenantId }: TestService): Promise<string> {
  const connection = {
    issuer: "https://id.example.test",
    clientId: "steward",
    entityId: null,
    signInUrl: null,
    certificates: [],
  };
  const row = { id: newId(), tenant_id: platformTenantId, kind: "Oidc", name: "Example Ltd", connection };
  await steward.platform.sql`insert into sign_in_providers ${steward.platform.sql(row)}`;
  return row.id;
}

/** One row of each record, with this text. */
async function makeRecords(
  make: (path: string, body: unknown) => Promise<string>,
  text: string,
): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const byOne: Record<string, string> = {};
  for (const record of RECORDS) {
    const path = pathOfRecord(record);
    ids[path] = byOne[record.one] = await make(
      path,
      creationOf(record, 1, { text, id: (one) => byOne[one] ?? "" }),
    );
  }
  return ids;
}
