import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { mailsTo, withJobs } from "../auth/mails.ts";
import { CLERK, columnsWith, done, ended, signIn, tablesWithRowsOf, textColumns } from "./support.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const PASSWORD = "violet harbour 91 lantern";

interface Person {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string;
  texts: string[];
}

/** Creates a user with values that occur nowhere else. */
async function person(by: Actor, more: Record<string, unknown> = {}): Promise<Person> {
  const mark = crypto.randomUUID().slice(0, 8);
  const profile = {
    email: `Quill.${mark}@personal.example`,
    firstName: `Quillonia${mark}`,
    lastName: `Vandersnoot${mark}`,
    phoneNumber: `+3519${parseInt(mark, 16)}`,
  };
  const metadata = { note: `zebrafish${mark}` };
  const { status, body } = await by.post("/api/v1/users", {
    ...profile,
    password: PASSWORD,
    metadata,
    ...more,
  }, { "idempotency-key": crypto.randomUUID() });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.id, ...profile, texts: [...Object.values(profile), metadata.note] };
}

const sessionOf = async (email: string): Promise<string> => {
  const { status, body } = await signIn(t, email, PASSWORD);
  assert.equal(status, 200, JSON.stringify(body));
  return body.accessToken;
};

Deno.test("after an erasure, no text column of any table has the person's values or messages", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const endpoint = { url: "https://hooks.example/x", eventTypes: ["*"] };
  assert.equal((await clerk.post("/api/v1/webhook-endpoints", endpoint)).status, 201);
  const him = await person(clerk);
  const body = `Dear ${him.firstName}, kumquat ${him.id}`;
  const texts = [...him.texts, body, `kumquat ${him.id}`];
  const token = await sessionOf(him.email);
  await signIn(t, him.email, "wrong password here");
  const mine = { authorization: `Bearer ${token}` };
  await t.nobody.put("/api/v1/auth/me", { lastName: `${him.lastName}Older` }, mine);
  await t.nobody.put("/api/v1/auth/me", { lastName: him.lastName }, mine);
  await t.nobody.post("/api/v1/auth/forgot-password", { email: him.email });
  await clerk.put(`/api/v1/users/${him.id}`, {
    externalId: `EXT${him.lastName}`,
    phoneNumber: him.phoneNumber,
  });
  await clerk.post(`/api/v1/users/${him.id}/deactivate`);
  await clerk.post(`/api/v1/users/${him.id}/activate`);
  const to = [{ address: him.email, displayName: `${him.firstName} ${him.lastName}` }];
  const message = { channel: "Email", recipients: to, subject: `For ${him.firstName}`, textBody: body };
  const sent = await clerk.post("/api/v1/notifications/send", message);
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const scheduled = await clerk.post("/api/v1/notifications/schedule", {
    notification: message,
    scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await clerk.post("/api/v1/notifications/email", { to: [him.email], subject: "Direct", htmlBody: body });
  await clerk.post("/api/v1/notifications/send", {
    channel: "InApp",
    recipients: [{ address: him.id }],
    subject: "Hello",
    textBody: body,
  });
  await clerk.post("/api/v1/notification-suppressions", {
    channel: "Email",
    address: him.email,
    detail: body,
  });
  const echo = await clerk.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: JSON.stringify({ to: him.email, tel: him.phoneNumber }),
    uniqueKey: him.email,
  });
  assert.equal(echo.status, 201, JSON.stringify(echo.body));
  await t.settled(echo.body.id);
  await clerk.post("/api/v1/recurring-jobs", {
    jobId: "daily",
    jobTypeName: "steward.echo",
    cronExpression: "0 4 * * *",
    timeZoneId: "UTC",
    serializedArgs: JSON.stringify([him.email]),
  });
  const schedule = await clerk.post("/api/v1/reports/schedules", {
    templateId: "users",
    name: "Users",
    cronExpression: "0 4 * * *",
    format: 3,
    delivery: { method: 2, recipients: [him.email, "other@corp.example"] },
  });
  assert.equal(schedule.status, 201, JSON.stringify(schedule.body));
  await clerk.put(`/api/v1/reports/schedules/${schedule.body.id}`, { name: "Users daily" });
  await sql`insert into audit_log (id, tenant_id, actor_id, action, target_type, target_id, after, ip)
    values (${crypto.randomUUID()}, ${clerk.tenantId}, ${him.id}, 'user.update', 'user', ${him.id},
      ${JSON.stringify({ firstName: him.firstName, isActive: true })}::text::jsonb, '203.0.113.77')`;
  await sql`with import as (
      insert into user_imports (id, tenant_id, file_id, is_dry_run, created_by, is_service_account, permissions, trace_id)
      values (gen_random_uuid(), ${clerk.tenantId}, gen_random_uuid(), true, ${clerk.userId}, false, '{}', '0')
      returning id)
    insert into user_import_rows (import_id, row, email, outcome, errors)
    select id, 7, ${him.email}, 'failed', '{}' from import`;

  const before = await columnsWith(sql, texts);
  for (
    const column of [
      ...[
        "users.email",
        "users.metadata",
        "user_tenants.external_id",
        "audit_values.after",
        "audit_log.after",
      ],
      ...[
        "notifications.text_body",
        "notification_recipients.address",
        "user_notifications.body",
        "events.data",
      ],
      ...[
        "jobs.serialized_args",
        "jobs.unique_key",
        "jobs.output",
        "recurring_jobs.serialized_args",
      ],
      ...["report_schedules.delivery_json", "notification_suppressions.address", "webhook_deliveries.body"],
      ...["idempotency_keys.body", "user_import_rows.email"],
    ]
  ) {
    assert.ok(before.some((found) => found.startsWith(`${column}:`)), `${column} has nothing to erase`);
  }

  const erasure = await done(clerk, `/api/v1/users/${him.id}/erase`, { reason: "asked by letter" });
  assert.equal(erasure.kind, "UserErasure");
  assert.deepEqual(await columnsWith(sql, [...texts, "203.0.113.77"]), []);
  assert.ok((await textColumns(sql)).length > 200, "the columns were not found");
  // The tenant still lists the user among deleted ones; the request has the status.
  assert.deepEqual(await tablesWithRowsOf(sql, him.id), ["data_requests", "user_tenants"]);

  assert.equal(
    (await clerk.get(`/api/v1/notifications/${scheduled.body.notificationId}`)).body.status,
    "Cancelled",
  );
  const kept = await clerk.get(`/api/v1/reports/schedules/${schedule.body.id}`);
  assert.ok(kept.body.deliveryOptionsJson.includes("other@corp.example"), "other recipients stay");
  const log = await clerk.get(`/api/v1/audit-log?targetId=${him.id}&pageSize=100`);
  const actions = log.body.items.map((row: { action: string }) => row.action);
  assert.equal(actions.filter((action: string) => action === "user.erase").length, 1);
  const created = log.body.items.find((row: { action: string }) => row.action === "user.create");
  assert.ok(created.valuesErasedAt);
  assert.equal(created.actorId, clerk.userId);
  assert.equal(created.after.isActive, true, "values that are not personal stay");
  assert.equal(created.after.email, undefined);
  const own = log.body.items.filter((row: { actorId: string }) => row.actorId === him.id);
  assert.ok(
    own.length >= 3 &&
      own.every((row: { ip: null; actorEmail: null }) => row.ip === null && row.actorEmail === null),
  );
  const erased = log.body.items.find((row: { action: string }) => row.action === "user.erase");
  assert.equal(erased.after.reason, "asked by letter");
});

Deno.test("the address goes from reasons, and longer addresses of others stay", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const email = `rita.${mark}@firm.example`;
  const others = [`${email}.br`, `ana${email}`, `${email}-x.br`];
  const { body: user } = await clerk.post("/api/v1/users", { email, password: PASSWORD, firstName: "Rita" });
  const sent = await clerk.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: others[0] }],
    subject: "Who",
    textBody: `Ask ${email}. Not ${others.join(", not ")}.`,
  });
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const lines = ["To", email, others[0], email].join("\n");
  const job = await clerk.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: JSON.stringify([lines]),
  });
  await t.settled(job.body.id);
  await done(clerk, `/api/v1/users/${user.id}/erase`, { reason: `${email} wrote to us` });
  const [asked] = await sql`select serialized_args from jobs where id = ${job.body.id}`;
  assert.deepEqual(JSON.parse(asked?.serializedArgs), [
    lines.replaceAll(/^rita.*example$/gm, "erased@erased.invalid"),
  ]);
  const [message] = await sql`select text_body from notifications where id = ${sent.body.notificationId}`;
  assert.equal(message?.textBody, `Ask erased@erased.invalid. Not ${others.join(", not ")}.`);
  const [request] = await sql`select reason from data_requests where user_id = ${user.id}`;
  assert.equal(request?.reason, "erased@erased.invalid wrote to us");
});

Deno.test("messages to a former address are erased too, unless another user has it by now", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const [first, second, last] = ["first", "second", "last"].map((name) => `${name}.${mark}@personal.example`);
  const { body: user } = await clerk.post("/api/v1/users", {
    email: first,
    password: PASSWORD,
    firstName: "Eva",
  });
  for (const [email, newEmail = ""] of [[first, second], [second, last]]) {
    const me = { authorization: `Bearer ${await sessionOf(email ?? "")}` };
    await withJobs(t, () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, me));
    const [mail] = await mailsTo(t, newEmail);
    const token = /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1];
    assert.equal((await t.nobody.post("/auth/confirm-email", { token })).status, 204);
  }
  const next = await clerk.post("/api/v1/users", { email: second, password: PASSWORD, firstName: "Next" });
  assert.equal(next.status, 201);
  const send = async (address = "") => {
    const message = { channel: "Email", recipients: [{ address }], subject: "To", textBody: "Dear Eva" };
    const { body } = await clerk.post("/api/v1/notifications/send", message);
    return body.notificationId as string;
  };
  const sent = await Promise.all([first, second, last].map(send));
  await done(clerk, `/api/v1/users/${user.id}/erase`, { reason: "asked" });
  const addressOf = async (id: string) =>
    (await sql`select address from notification_recipients where notification_id = ${id}`)[0]?.address;
  assert.deepEqual(await Promise.all(sent.map(addressOf)), ["erased", second, "erased"]);
});

Deno.test("a failed message is sent again to its other recipients only, and to nobody if there is no other", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const [email, other] = [`gone.${mark}@personal.example`, `other.${mark}@firm.example`];
  const { body: user } = await clerk.post("/api/v1/users", { email, password: PASSWORD, firstName: "Gone" });
  const failed = async (...addresses: string[]): Promise<string> => {
    const recipients = addresses.map((address) => ({ address }));
    const message = { channel: "Email", recipients, subject: "To", textBody: "Hello" };
    const { body } = await clerk.post("/api/v1/notifications/send", message);
    const [job] = await sql`select job_id from notifications where id = ${body.notificationId}`;
    await t.settled(job?.jobId);
    await sql`update notification_recipients set status = 'Refused', sent_at = null
      where notification_id = ${body.notificationId}`;
    await sql`update notifications set status = 'DeadLettered' where id = ${body.notificationId}`;
    return body.notificationId;
  };
  const [alone, both] = [await failed(email), await failed(email, other)];
  await done(clerk, `/api/v1/users/${user.id}/erase`, { reason: "asked" });
  const refused = await clerk.post(`/api/v1/notifications/${alone}/retry`, {});
  assert.deepEqual([refused.status, refused.body.code], [400, "NOTIFICATION_CANNOT_RETRY"]);
  const accepted = await clerk.post(`/api/v1/notifications/${both}/retry`, {});
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  const [job] = await sql`select job_id from notifications where id = ${both}`;
  assert.equal(await t.settled(job?.jobId), "Succeeded");
  const rows = await sql`
    select address, status from notification_recipients where notification_id = ${both} order by address`;
  assert.deepEqual(rows.map((row) => [row.address, row.status]), [["erased", "Refused"], [other, "Sent"]]);
});

Deno.test("an email that was asked for and never confirmed is erased too, and is in no job", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const newEmail = `wanted.${crypto.randomUUID()}@personal.example`;
  const me = { authorization: `Bearer ${await sessionOf(him.email)}` };
  await withJobs(t, () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, me));
  assert.equal((await mailsTo(t, newEmail)).length, 1);
  const found = await columnsWith(sql, [newEmail]);
  assert.ok(found.some((each) => each.startsWith("notification_recipients.address:")), found.join());
  assert.ok(!found.some((each) => each.startsWith("jobs.") || each.startsWith("job_")), found.join());
  await done(clerk, `/api/v1/users/${him.id}/erase`, { reason: "asked" });
  assert.deepEqual(await columnsWith(sql, [newEmail]), []);
});

Deno.test("an erased user is gone at once, and the email is free", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  const token = await sessionOf(her.email);
  const answer = await clerk.post(`/api/v1/users/${her.id}/erase`, { reason: "asked" });
  assert.equal(answer.status, 202);
  const mine = { authorization: `Bearer ${token}` };
  assert.equal((await t.nobody.get("/api/v1/auth/me", mine)).status, 401);
  assert.equal((await signIn(t, her.email, PASSWORD)).body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.equal((await clerk.get(`/api/v1/users/${her.id}`)).body.code, "USER_NOT_FOUND");
  const again = await clerk.post("/api/v1/users", { email: her.email, password: PASSWORD, firstName: "New" });
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.notEqual(again.body.id, her.id);
  await ended(clerk, answer.body.statusUrl);
  assert.equal(
    (await clerk.get(`/api/v1/users/${again.body.id}`)).body.email,
    her.email,
    "the new user stays",
  );
});

Deno.test("an erasure asked for again is the same one, also at the same time", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const path = `/api/v1/users/${him.id}/erase`;
  const answers = await Promise.all([1, 2, 3].map(() => clerk.post(path, { reason: "asked" })));
  assert.deepEqual(answers.map(({ status }) => status), [202, 202, 202]);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  await ended(clerk, answers[0]?.body.statusUrl);
  assert.equal((await clerk.post(path, { reason: "other" })).body.reason, "asked");
  const log = await clerk.get(`/api/v1/audit-log?targetId=${him.id}&action=user.erase`);
  assert.equal(log.body.totalCount, 1);
});

Deno.test("of sign-ins during an erasure, no session survives", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  const [erasure, ...signIns] = await Promise.all([
    clerk.post(`/api/v1/users/${her.id}/erase`, { reason: "asked" }),
    ...[1, 2, 3, 4].map(() => signIn(t, her.email, PASSWORD)),
  ]);
  assert.equal(erasure?.status, 202);
  for (const { body } of signIns) {
    if (!body.accessToken) continue;
    const me = await t.nobody.get("/api/v1/auth/me", { authorization: `Bearer ${body.accessToken}` });
    assert.equal(me.status, 401);
  }
  await ended(clerk, erasure?.body.statusUrl);
  assert.equal((await sql`select from sessions where user_id = ${her.id}`).length, 0);
});

Deno.test("who may erase whom", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const other = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const path = `/api/v1/users/${him.id}/erase`;
  const reason = { reason: "asked" };
  assert.equal((await t.nobody.post(path, reason)).body.code, "TOKEN_MISSING");
  const lacking = await t.actor({ tenantId: clerk.tenantId!, permissions: ["delete:users", "export:users"] });
  assert.equal((await lacking.post(path, reason)).body.code, "MISSING_PERMISSION");
  assert.equal((await other.post(path, reason)).body.code, "USER_NOT_FOUND");
  assert.equal(
    (await other.post(`/api/v1/admin/users/${him.id}/erase`, reason)).body.code,
    "MISSING_PERMISSION",
  );
  for (const body of [{}, { reason: " " }, { reason: "x".repeat(501) }]) {
    assert.equal((await clerk.post(path, body)).body.code, "VALIDATION_ERROR");
  }
  assert.equal(
    (await clerk.post(`/api/v1/users/${clerk.userId}/erase`, reason)).body.code,
    "USER_SELF_CONFLICT",
  );
  const admin = t.systemAdmin;
  const self = await admin.post(`/api/v1/admin/users/${admin.userId}/erase`, reason);
  assert.equal(self.body.code, "USER_SELF_CONFLICT");
  await admin.post(`/api/v1/admin/users/${him.id}/tenants`, {
    tenantId: other.tenantId,
    roleIds: [other.roleId],
  });
  assert.equal((await clerk.post(path, reason)).body.code, "CROSS_TENANT_FORBIDDEN");
  assert.equal((await other.post(path, reason)).body.code, "CROSS_TENANT_FORBIDDEN");
  assert.equal((await clerk.get(`/api/v1/users/${him.id}`)).status, 200, "nothing was changed");
  const erasure = await done(admin, `/api/v1/admin/users/${him.id}/erase`, reason);
  assert.equal(
    (await clerk.get(`/api/v1/users/${him.id}/data-requests/${erasure.id}`)).body.code,
    "DATA_REQUEST_NOT_FOUND",
  );
  assert.equal((await admin.get(`/api/v1/admin/users/${him.id}/data-requests`)).body[0].id, erasure.id);
  assert.deepEqual((await clerk.get(`/api/v1/users/${him.id}/data-requests`)).body, []);
});

Deno.test("a deleted user can be erased; so the email is free again", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  assert.equal((await clerk.delete(`/api/v1/users/${her.id}`)).status, 200);
  const taken = { email: her.email, password: PASSWORD };
  assert.equal((await clerk.post("/api/v1/users", taken)).body.code, "USER_ALREADY_EXISTS");
  await done(clerk, `/api/v1/users/${her.id}/erase`, { reason: "asked" });
  assert.deepEqual(await columnsWith(sql, her.texts), []);
  assert.equal((await clerk.post("/api/v1/users", taken)).status, 201);
});

Deno.test("an erasure that failed midway is finished by the next attempt", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const { platform } = t.steward;
  const areas = platform.personalData;
  let failures = 0;
  const failing = {
    area: "failing",
    eraseUsers: () => failures++ === 0 ? Promise.reject(new Error("lost the database")) : Promise.resolve(),
  };
  const restore = t.replace((p) => p, { personalData: [...areas.slice(0, 3), failing, ...areas.slice(3)] });
  try {
    const { body } = await clerk.post(`/api/v1/users/${him.id}/erase`, { reason: "asked" });
    const [job] = await sql`select job_id from data_requests where id = ${body.id}`;
    await t.settled(job?.jobId, ["Failed"]);
    assert.notDeepEqual(await columnsWith(sql, him.texts), []);
    await sql`update jobs set due_at = now(), status = 'Enqueued' where id = ${job?.jobId}`;
    await ended(clerk, body.statusUrl);
  } finally {
    restore();
  }
  assert.equal(failures, 2);
  assert.deepEqual(await columnsWith(sql, him.texts), []);
});
