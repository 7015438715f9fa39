// Two tenants: one with an object of every kind, and one of an outsider with all permissions there.
import assert from "node:assert/strict";
import { numberEvents } from "../../../domain/events/feed/number_events.ts";
import { CATALOG_PERMISSIONS } from "../../../domain/rights/catalog.ts";
import { MARKER, type World } from "../../support/isolation.ts";
import type { TestService } from "../../support/setup.ts";

const KINDS = [
  "tenant",
  "user",
  "email",
  "role",
  "invitation",
  "userImport",
  "permission",
  "permissionCode",
  "session",
  "job",
  "jobBatch",
  "recurringJob",
  "jobType",
  "deadLetter",
  "file",
  "reference",
  "notification",
  "template",
  "templateSlug",
  "inApp",
  "device",
  "suppression",
  "notificationSender",
  "execution",
  "documentTemplate",
  "schedule",
  "reportTarget",
  "application",
  "setting",
  "apiKey",
  "serviceAccount",
  "oauthClient",
  "factor",
  "webhookEndpoint",
  "webhookDelivery",
] as const;
export type Kind = typeof KINDS[number];

/** Names of the same form that do not exist. */
const ABSENT: Record<Kind, string> = {
  ...Object.fromEntries(KINDS.map((kind) => [kind, crypto.randomUUID()])) as Record<Kind, string>,
  email: "absent@example.test",
  permissionCode: "absent:thing",
  recurringJob: "absent-recurring",
  jobType: "absent.type",
  templateSlug: "absent-template",
};

export const everyTenantPermission = CATALOG_PERMISSIONS.filter((p) => p.reach === "Tenant").map((p) =>
  p.code
);

export async function buildWorld(t: TestService): Promise<World<Kind>> {
  const { sql } = t.steward.platform;
  const victim = await t.actor({ permissions: everyTenantPermission });
  const outsider = await t.actor({
    tenantId: await t.tenant({ type: "Group" }),
    permissions: everyTenantPermission,
  });
  await sql`update tenants set name = ${`${MARKER} tenant`} where id = ${victim.tenantId}`;
  await sql`update users set first_name = ${MARKER} where id = ${victim.userId}`;
  const made = async (path: string, body: unknown, id = "id"): Promise<string> => {
    const answer = await victim.post(path, body);
    assert.ok(answer.status < 300, `POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body[id];
  };
  const inserted = async (table: string, row: Record<string, unknown>): Promise<string> => {
    const id = crypto.randomUUID();
    await sql`insert into ${sql(table)} ${sql({ id, ...row })}`;
    return id;
  };
  const tenantId = victim.tenantId ?? "";
  const email = "victims.user@example.test";
  const message = { channel: "Email", recipients: [{ address: email }], subject: MARKER, textBody: MARKER };
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const file = await made("/api/v1/files", {
    profile: "document",
    fileName: `${MARKER}.pdf`,
    contentType: "application/pdf",
    sizeBytes: 100,
  }, "fileId");
  const [session] = await sql<{ id: string }[]>`select id from sessions where user_id = ${victim.userId}`;
  const job = await made("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: JSON.stringify({ text: MARKER }),
  });
  const webhookEndpoint = await made("/api/v1/webhook-endpoints", {
    url: `https://hooks.example.test/${MARKER}`,
    eventTypes: ["report.failed"],
  });
  const declared = await victim.put("/api/v1/job-types/victims.type", { description: MARKER });
  assert.equal(declared.status, 201, JSON.stringify(declared.body));
  const role = await made("/api/v1/roles", { name: `${MARKER} role`, permissionIds: [] });
  const ids: Record<Kind, string> = {
    tenant: tenantId,
    user: await made("/api/v1/users", {
      email,
      password: "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q",
      isPasswordEncrypted: true,
      firstName: MARKER,
    }),
    email,
    role,
    userImport: await inserted("user_imports", {
      tenant_id: tenantId,
      file_id: file,
      is_dry_run: true,
      created_by: victim.userId,
      is_service_account: false,
      acting_tenant_id: tenantId,
      permissions: ["create:users"],
      trace_id: MARKER,
    }),
    invitation: await made("/api/v1/users/invite", {
      email: "victims.guest@example.test",
      roleIds: [role],
      firstName: MARKER,
    }),
    permission: await made("/api/v1/permissions", {
      code: "victims:thing",
      description: MARKER,
      category: MARKER,
    }),
    permissionCode: "victims:thing",
    session: session?.id ?? "",
    job,
    jobBatch: await made("/api/v1/jobs/batches", {
      name: MARKER,
      jobs: [{ jobTypeName: "steward.echo", scheduledAt: "2090-01-01T00:00:00Z" }],
      open: true,
    }),
    recurringJob: await made("/api/v1/recurring-jobs", {
      jobId: "victims-recurring",
      jobTypeName: "steward.echo",
      cronExpression: "0 4 * * *",
      serializedArgs: JSON.stringify({ text: MARKER }),
    }, "jobId"),
    jobType: "victims.type",
    deadLetter: await inserted("dead_letter_jobs", {
      job_id: job,
      tenant_id: tenantId,
      job_type_name: "steward.echo",
      queue: "default",
      serialized_args: JSON.stringify({ text: MARKER }),
      attempts: 1,
      error_message: MARKER,
    }),
    file,
    reference: await inserted("file_references", { file_id: file, scope: "victims", owner_id: MARKER }),
    notification: await made(
      "/api/v1/notifications/schedule",
      { notification: message, scheduledAt: later },
      "notificationId",
    ),
    template: await made("/api/v1/notification-templates", {
      slug: "victims-template",
      name: MARKER,
      subjectTemplate: MARKER,
      textBodyTemplate: MARKER,
      locale: "en",
    }),
    templateSlug: "victims-template",
    inApp: await inserted("user_notifications", {
      tenant_id: tenantId,
      user_id: victim.userId,
      seq: 1,
      title: MARKER,
      body: MARKER,
    }),
    device: await made(`/api/v1/user-notifications/devices?userId=${victim.userId}`, {
      token: "victims-device",
    }),
    suppression: await made("/api/v1/notification-suppressions", {
      channel: "Email",
      address: "victims.suppressed@example.test",
      detail: MARKER,
    }),
    notificationSender: await made("/api/v1/notification-senders", {
      address: "victim@victims.example",
      name: MARKER,
    }),
    execution: await made("/api/v1/reports/generate-async", { templateId: "users", format: 3 }),
    documentTemplate: await made("/api/v1/document-templates", {
      slug: "victims-document",
      name: MARKER,
      titleTemplate: MARKER,
      bodyTemplate: `<page><p>${MARKER}</p></page>`,
    }),
    schedule: await made("/api/v1/reports/schedules", {
      templateId: "users",
      name: MARKER,
      cronExpression: "0 4 * * *",
      format: 3,
    }),
    application: await made("/api/v1/applications", { code: "victims", name: MARKER }),
    setting: await made("/api/v1/settings", { key: "victims", value: MARKER }),
    apiKey: await made("/api/v1/api-keys", { name: MARKER, permissions: ["read:users"] }),
    serviceAccount: await made("/api/v1/service-accounts", {
      name: MARKER,
      permissions: ["read:users"],
      tenants: [tenantId],
    }),
    oauthClient: await made("/api/v1/oauth-clients", {
      name: MARKER,
      kind: "confidential",
      redirectUris: ["https://victims.test/"],
      audience: `https://${tenantId}.victims.test`, // one owner may use an audience
    }),
    factor: await inserted("user_factors", {
      user_id: victim.userId,
      kind: "totp",
      name: MARKER,
      secret: MARKER,
    }),
    webhookEndpoint,
    reportTarget: await made("/api/v1/report-targets", {
      name: MARKER,
      kind: "slack",
      webhookUrl: "https://hooks.example.test/slack",
    }),
    webhookDelivery: await inserted("webhook_deliveries", {
      endpoint_id: webhookEndpoint,
      event_type: "user.created",
      body: JSON.stringify({ type: "user.created", data: { firstName: MARKER } }),
      job_id: job,
      status: "Failed",
      next_attempt_at: null,
    }),
  };
  await sql`update files set reference_count = 1 where id = ${file}`;
  await numberEvents(sql); // a poll would number the victim's events too
  return {
    t,
    sql,
    permissions: everyTenantPermission,
    victim,
    outsider,
    ids,
    absent: ABSENT,
    texts: [MARKER, victim.email, "victims-device"],
    schemas: ["public"],
  };
}
