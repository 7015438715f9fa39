// Two tenants: one with an object of every kind, and one of an outsider with all permissions there.
import assert from "node:assert/strict";
import { numberEvents } from "../../../domain/events/feed/read_page.ts";
import { pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { CATALOG_PERMISSIONS } from "../../../domain/rights/catalog.ts";
import { MARKER, type World } from "../../support/isolation.ts";
import { creationOf } from "../../support/record_samples.ts";
import { nulls } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";

const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
const LATER = "2090-01-01T00:00:00Z";
const ECHO = { jobTypeName: "steward.echo", serializedArgs: JSON.stringify({ text: MARKER }) };

/** The creation of an object gets these. */
interface Making {
  victim: Actor;
  tenantId: string;
  /** 0 for the object in the world; later objects of the same kind have other numbers. */
  n: number;
  /** Appended to names that must be unique: "" for the first object. */
  tail: string;
  /** A text with the marker. Its order is not that of the creation. */
  text: string;
  /** Another value for the next object, in turn. */
  turn<V>(...values: V[]): V;
  /** The id of an object of another kind that was created before. */
  id(kind: string): string;
  /** Creates the object through the API. @returns the member `id` of the answer */
  made(path: string, body: unknown, id?: string): Promise<string>;
  /** Inserts a row. @returns its id */
  inserted(table: string, row: Record<string, unknown>): Promise<string>;
}

type RecordKind = (typeof RECORDS)[number]["one"];

const recordMakers = () =>
  Object.fromEntries(
    RECORDS.map((record) => [
      record.one,
      ({ made, n, text, id }: Making) =>
        made(`/${pathOfRecord(record)}`, creationOf(record, n, { text, id })),
    ]),
  ) as Record<RecordKind, (m: Making) => Promise<string>>;

/** How an object of each kind is created, in this order. */
const MAKERS = {
  tenant: ({ tenantId }) => tenantId,
  email: ({ tail }) => `victims.user${tail}@example.test`,
  user: ({ made, id, text }) =>
    made("/users", { email: id("email"), password: BCRYPT, isPasswordEncrypted: true, firstName: text }),
  role: ({ made, text }) => made("/roles", { name: `${text} role`, permissionIds: [] }),
  file: ({ made, text }) =>
    made("/files", {
      profile: "document",
      fileName: `${text}.pdf`,
      contentType: "application/pdf",
      sizeBytes: 100,
    }, "fileId"),
  userImport: ({ inserted, tenantId, victim, id, text }) =>
    inserted("user_imports", {
      tenant_id: tenantId,
      file_id: id("file"),
      is_dry_run: true,
      created_by: victim.userId,
      is_service_account: false,
      acting_tenant_id: tenantId,
      permissions: ["create:users"],
      trace_id: text,
    }),
  invitation: ({ made, id, text, tail }) =>
    made("/users/invite", {
      email: `victims.guest${tail}@example.test`,
      roleIds: [id("role")],
      firstName: text,
    }),
  permissionCode: ({ tail }) => `victims:thing${tail}`,
  permission: ({ made, id, text }) =>
    made("/permissions", { code: id("permissionCode"), description: text, category: text }),
  session: ({ inserted, victim }) =>
    inserted("sessions", { user_id: victim.userId, expires_at: LATER, user_agent: MARKER }),
  job: ({ made, turn }) =>
    made("/jobs", {
      ...ECHO,
      priority: turn("Normal", "High", "Low"),
      queue: turn("default", "slow"),
      scheduledAt: turn(null, LATER, null, "2091-01-01T00:00:00Z", "2092-01-01T00:00:00Z"),
    }),
  jobBatch: ({ made, text }) =>
    made("/jobs/batches", {
      name: text,
      jobs: [{ jobTypeName: "steward.echo", scheduledAt: LATER }],
      open: true,
    }),
  recurringJob: ({ made, tail }) =>
    made(
      "/recurring-jobs",
      { jobId: `victims-recurring${tail}`, cronExpression: "0 4 * * *", ...ECHO },
      "jobId",
    ),
  jobType: async ({ victim, tail, text }) => {
    const name = `victims.type${tail}`;
    const { status, body } = await victim.put(`/api/v1/job-types/${name}`, { description: text });
    assert.equal(status, 201, JSON.stringify(body));
    return name;
  },
  deadLetter: ({ inserted, tenantId, id, text, turn }) =>
    inserted("dead_letter_jobs", {
      job_id: id("job"),
      tenant_id: tenantId,
      job_type_name: ECHO.jobTypeName,
      queue: "default",
      serialized_args: ECHO.serializedArgs,
      attempts: 1,
      error_message: `${text} ${turn("alpha", "beta", "gamma")}`,
      retried_at: turn(null, new Date()),
    }),
  reference: ({ inserted, id, text }) =>
    inserted("file_references", { file_id: id("file"), scope: "victims", owner_id: text }),
  notification: ({ made, text }) =>
    made("/notifications/schedule", {
      notification: {
        channel: "Email",
        recipients: [{ address: "victims.user@example.test" }],
        subject: text,
        textBody: text,
      },
      scheduledAt: LATER,
    }, "notificationId"),
  templateSlug: ({ tail }) => `victims-template${tail}`,
  template: ({ made, id, text, turn }) =>
    made("/notification-templates", {
      slug: id("templateSlug"),
      name: text,
      subjectTemplate: text,
      textBodyTemplate: text,
      locale: turn("en", "pt"),
    }),
  inApp: ({ inserted, tenantId, victim, n, text, turn }) =>
    inserted("user_notifications", {
      tenant_id: tenantId,
      user_id: victim.userId,
      seq: n + 1,
      title: text,
      body: text,
      category: turn("news", "billing", null),
      is_read: turn(false, true),
      read_at: turn(null, new Date()),
    }),
  device: ({ made, victim, tail }) =>
    made(`/user-notifications/devices?userId=${victim.userId}`, { token: `victims-device${tail}` }),
  // not by the API, because a tenant has at most five
  signInProvider: ({ inserted, tenantId, text }) =>
    inserted("sign_in_providers", {
      tenant_id: tenantId,
      kind: "Oidc",
      name: text,
      connection: {
        issuer: "https://id.victims.example",
        clientId: "x",
        certificates: [],
        ...nulls("entityId signInUrl"),
      },
      claims: nulls("email firstName lastName groups"),
    }),
  signInDomain: ({ made, tail }) => made("/sign-in-domains", { name: `victims${tail}.example.com` }),
  signInSetupLink: ({ made }) => made("/sign-in-setup-links", undefined),
  suppression: ({ made, n, text, tail, turn }) =>
    made("/notification-suppressions", {
      channel: turn("Email", "Sms"),
      address: turn(`victims.suppressed${tail}@example.test`, `+35191234${5000 + n}`),
      detail: text,
    }),
  notificationSender: ({ made, text, tail }) =>
    made("/notification-senders", { address: `victim${tail}@victims.example`, name: text }),
  execution: ({ made }) => made("/reports/generate-async", { templateId: "users", format: 3 }),
  documentTemplate: ({ made, text, tail }) =>
    made("/document-templates", {
      slug: `victims-document${tail}`,
      name: text,
      titleTemplate: text,
      bodyTemplate: `<page><p>${text}</p></page>`,
    }),
  schedule: ({ made, text }) =>
    made("/reports/schedules", { templateId: "users", name: text, cronExpression: "0 4 * * *", format: 3 }),
  reportTarget: ({ made, text }) =>
    made("/report-targets", { name: text, kind: "slack", webhookUrl: "https://hooks.example.test/slack" }),
  ...recordMakers(),
  apiKey: ({ made, text }) => made("/api-keys", { name: text, permissions: ["read:users"] }),
  serviceAccount: ({ made, text, tenantId }) =>
    made("/service-accounts", { name: text, permissions: ["read:users"], tenants: [tenantId] }),
  oauthClient: ({ made, text, tenantId, tail }) =>
    made("/oauth-clients", {
      name: text,
      kind: "confidential",
      redirectUris: ["https://victims.test/"],
      audience: `https://${tenantId}${tail}.victims.test`, // one owner may use an audience
    }),
  factor: ({ inserted, victim, text }) =>
    inserted("user_factors", { user_id: victim.userId, kind: "totp", name: text, secret: text }),
  webhookEndpoint: ({ made, text, turn }) =>
    made("/webhook-endpoints", {
      url: `https://hooks.example.test/${encodeURIComponent(text)}`,
      eventTypes: ["report.failed"],
      isActive: turn(true, false, true),
    }),
  webhookDelivery: ({ inserted, id, text, turn }) =>
    inserted("webhook_deliveries", {
      endpoint_id: id("webhookEndpoint"),
      event_type: "user.created",
      body: JSON.stringify({ type: "user.created", data: { firstName: text } }),
      job_id: id("job"),
      status: turn("Failed", "Delivered"),
      next_attempt_at: null,
      completed_at: new Date(),
    }),
} satisfies Record<string, (m: Making) => string | Promise<string>>;
export type Kind = keyof typeof MAKERS;
export const KINDS = Object.keys(MAKERS) as Kind[];

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

/**
 * Creates objects of the victim of these kinds.
 * @param existing ids of objects that they may refer to
 * @param n appended to their names, so that these are unique; 0: nothing
 */
export async function makeObjects(
  { victim, sql }: { victim: Actor; sql: Sql },
  kinds: readonly Kind[],
  existing: Partial<Record<Kind, string>>,
  n: number,
): Promise<Record<Kind, string>> {
  const ids = { ...existing } as Record<Kind, string>;
  const mixed = `${(n * 7) % 10}${n}`;
  for (const kind of KINDS.filter((kind) => kinds.includes(kind))) {
    ids[kind] = await MAKERS[kind]({
      victim,
      tenantId: victim.tenantId ?? "",
      n,
      tail: n === 0 ? "" : `-${mixed}`,
      text: n === 0 ? MARKER : `${MARKER} ${mixed}`,
      turn: (...values) => values[n % values.length] as typeof values[number],
      id: (other) => ids[other as Kind],
      made: async (path, body, id = "id") => {
        const answer = await victim.post(`/api/v1${path}`, body);
        assert.ok(answer.status < 300, `POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return answer.body[id];
      },
      inserted: async (table, row) => {
        const id = crypto.randomUUID();
        await sql`insert into ${sql(table)} ${sql({ id, ...row })}`;
        return id;
      },
    });
  }
  return ids;
}

/** Rows of the records that others refer to, by their singular. */
async function makeReferred(by: Actor): Promise<Record<string, string>> {
  const own: Record<string, string> = {};
  const referred = new Set(RECORDS.flatMap(({ members }) => members.map(({ refersTo }) => refersTo)));
  for (const record of RECORDS.filter(({ many }) => referred.has(many))) {
    const body = creationOf(record, 500, { id: (one) => own[one] ?? "" });
    own[record.one] = (await accepted(by.post(`/api/v1/${pathOfRecord(record)}`, body), 201)).id;
  }
  return own;
}

export async function buildWorld(t: TestService): Promise<World<Kind>> {
  const { sql } = t.steward.platform;
  const victim = await t.actor({ permissions: everyTenantPermission });
  const outsider = await t.actor({
    tenantId: await t.tenant({ type: "Group" }),
    permissions: everyTenantPermission,
  });
  await sql`update tenants set name = ${`${MARKER} tenant`} where id = ${victim.tenantId}`;
  await sql`update users set first_name = ${MARKER} where id = ${victim.userId}`;
  const ids = await makeObjects({ victim, sql }, KINDS, {}, 0);
  await sql`update files set reference_count = 1 where id = ${ids.file}`;
  await numberEvents(sql); // a poll would number the victim's events too
  return {
    t,
    sql,
    permissions: everyTenantPermission,
    victim,
    outsider,
    ids,
    own: await makeReferred(outsider),
    absent: ABSENT,
    texts: [MARKER, victim.email, "victims-device"],
    schemas: ["public"],
  };
}
