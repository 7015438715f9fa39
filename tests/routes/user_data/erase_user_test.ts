import assert from "node:assert/strict";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { mailsTo, withJobs } from "../auth/mails.ts";
import {
  CLERK,
  columnsWith,
  createUser,
  done,
  ended,
  PASSWORD,
  signIn,
  tablesWith,
  textColumns,
} from "./support.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

interface Person {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string;
  texts: string[];
}

interface LogRow {
  action: string;
  actorId: string;
  actorEmail: string | null;
  ip: string | null;
  valuesErasedAt: string | null;
  after: Record<string, unknown>;
}

/** Creates a user with values that occur nowhere else. */
async function person(by: Actor): Promise<Person> {
  const mark = crypto.randomUUID().slice(0, 8);
  const profile = {
    email: `Quill.${mark}@personal.example`,
    firstName: `Quillonia${mark}`,
    lastName: `Vandersnoot${mark}`,
    phoneNumber: `+3519${parseInt(mark, 16)}`,
  };
  const metadata = { note: `zebrafish${mark}` };
  const id = await createUser(by, { ...profile, metadata }, { "idempotency-key": crypto.randomUUID() });
  return { id, ...profile, texts: [...Object.values(profile), metadata.note] };
}

const sessionOf = async (email: string): Promise<string> => (await accepted(signIn(t, email))).accessToken;
const erase = (by: Actor, id: string, reason = "asked") => done(by, `/api/v1/users/${id}/erase`, { reason });

Deno.test("after an erasure, no text column of any table has the person's values or messages", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const endpoint = { url: "https://hooks.example/x", eventTypes: ["*"] };
  assert.equal((await clerk.post("/api/v1/webhook-endpoints", endpoint)).status, 201);
  const him = await person(clerk);
  const body = `Dear ${him.firstName}, kumquat ${him.id}`;
  const texts = [...him.texts, body, `kumquat ${him.id}`];
  const token = await sessionOf(him.email);
  await t.nobody.post("/api/v1/auth/login", { email: him.email, password: "wrong password here" });
  const mine = { authorization: `Bearer ${token}` };
  await t.nobody.put("/api/v1/auth/me", { lastName: `${him.lastName}Older` }, mine);
  await t.nobody.put("/api/v1/auth/me", { lastName: him.lastName }, mine);
  await t.nobody.post("/api/v1/auth/forgot-password", { email: him.email });
  const { sql } = t.steward.platform;
  await sql`insert into registration_settings (tenant_id, mode, domains) values (${clerk.tenantId}, 'open', '{}')`;
  await accepted(
    t.nobody.post("/api/v1/auth/register", { tenantId: clerk.tenantId, email: him.email }),
    202,
  );
  const newEmail = `wanted.${him.id}@personal.example`; // never confirmed
  await withJobs(t, () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, mine));
  texts.push(newEmail);
  await clerk.put(`/api/v1/users/${him.id}`, {
    externalId: `EXT${him.lastName}`,
    phoneNumber: him.phoneNumber,
  });
  await clerk.post(`/api/v1/users/${him.id}/deactivate`);
  await clerk.post(`/api/v1/users/${him.id}/activate`);
  const to = [{ address: him.email, displayName: `${him.firstName} ${him.lastName}` }];
  const message = { channel: "Email", recipients: to, subject: `For ${him.firstName}`, textBody: body };
  await accepted(clerk.post("/api/v1/notifications/send", message));
  const scheduled = await clerk.post("/api/v1/notifications/schedule", {
    notification: message,
    scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await clerk.post("/api/v1/notifications/email", { to: [him.email], subject: "Direct", htmlBody: body });
  const inApp = { channel: "InApp", recipients: [{ address: him.id }], subject: "Hello", textBody: body };
  await clerk.post("/api/v1/notifications/send", inApp);
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
  const columns = [
    ...["users.email", "users.metadata", "user_tenants.external_id", "audit_values.after", "audit_log.after"],
    ...[
      "notifications.text_body",
      "notification_recipients.address",
      "user_notifications.body",
      "events.data",
    ],
    ...["jobs.serialized_args", "jobs.unique_key", "jobs.output", "recurring_jobs.serialized_args"],
    ...["report_schedules.delivery_json", "notification_suppressions.address", "webhook_deliveries.body"],
    ...["idempotency_keys.body", "user_import_rows.email"],
  ];
  for (const column of columns) {
    assert.ok(before.some((found) => found.startsWith(`${column}:`)), `${column} has nothing to erase`);
  }

  const unconfirmed = (await columnsWith(sql, [newEmail])).join("\n");
  assert.match(unconfirmed, /^notification_recipients\.address:/m);
  assert.doesNotMatch(unconfirmed, /^jobs?[._]/m);
  const erasure = await erase(clerk, him.id, "asked by letter");
  assert.equal(erasure.kind, "UserErasure");
  assert.deepEqual(await columnsWith(sql, [...texts, "203.0.113.77"]), []);
  assert.ok((await textColumns(sql)).length > 200, "the columns were not found");
  // The tenant still lists the user among deleted ones; the request has the status.
  assert.deepEqual(await tablesWith(sql, ["user_id"], him.id), ["data_requests", "user_tenants"]);

  const { body: cancelled } = await clerk.get(`/api/v1/notifications/${scheduled.body.notificationId}`);
  assert.equal(cancelled.status, "Cancelled");
  const kept = await clerk.get(`/api/v1/reports/schedules/${schedule.body.id}`);
  assert.ok(kept.body.deliveryOptionsJson.includes("other@corp.example"), "other recipients stay");
  const log = await clerk.get(`/api/v1/audit-log?targetId=${him.id}&pageSize=100`);
  const rows: LogRow[] = log.body.items;
  const [created] = rows.filter(({ action }) => action === "user.create");
  assert.ok(created?.valuesErasedAt);
  assert.equal(created.actorId, clerk.userId);
  assert.equal(created.after.isActive, true, "values that are not personal stay");
  assert.equal(created.after.email, undefined);
  const own = rows.filter(({ actorId }) => actorId === him.id);
  assert.ok(own.length >= 3 && own.every(({ ip, actorEmail }) => ip === null && actorEmail === null));
  const erasures = rows.filter(({ action }) => action === "user.erase");
  assert.deepEqual(erasures.map(({ after }) => after.reason), ["asked by letter"]);
});

Deno.test("the address goes from reasons, and longer addresses of others stay", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const email = `rita.${mark}@firm.example`;
  const others = [`${email}.br`, `ana${email}`, `ana&${email}`, `${email}-x.br`];
  const user = await createUser(clerk, { email, firstName: "Rita" });
  const sent = await clerk.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: others[0] }],
    subject: "Who",
    textBody: `Ask ${email}. Not ${others.join(", not ")}.`,
  });
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const lines = ["To", email, others[0], email].join("\n");
  const serializedArgs = JSON.stringify([lines]);
  const job = await clerk.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs });
  await t.settled(job.body.id);
  await accepted(clerk.delete(`/api/v1/users/${user}`)); // a deleted user can be erased too
  await erase(clerk, user, `${email} wrote to us`);
  const [asked] = await sql`select serialized_args from jobs where id = ${job.body.id}`;
  const erased = lines.replaceAll(/^rita.*example$/gm, "erased@erased.invalid");
  assert.deepEqual(JSON.parse(asked?.serializedArgs), [erased]);
  const [message] = await sql`select text_body from notifications where id = ${sent.body.notificationId}`;
  assert.equal(message?.textBody, `Ask erased@erased.invalid. Not ${others.join(", not ")}.`);
  const [request] = await sql`select reason from data_requests where user_id = ${user}`;
  assert.equal(request?.reason, "erased@erased.invalid wrote to us");
});

Deno.test("messages to a former address are erased too, unless another user has it by now", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const [first, second, last] = ["first", "second", "last"].map((name) => `${name}.${mark}@personal.example`);
  const user = await createUser(clerk, { email: first, firstName: "Eva" });
  for (const [email, newEmail = ""] of [[first, second], [second, last]]) {
    const me = { authorization: `Bearer ${await sessionOf(email ?? "")}` };
    await withJobs(t, () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, me));
    const [mail] = await mailsTo(t, newEmail);
    const token = /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1];
    assert.equal((await t.nobody.post("/auth/confirm-email", { token })).status, 204);
  }
  await createUser(clerk, { email: second, firstName: "Next" });
  const send = async (address = "") => {
    const message = { channel: "Email", recipients: [{ address }], subject: "To", textBody: "Dear Eva" };
    const { body } = await clerk.post("/api/v1/notifications/send", message);
    return body.notificationId as string;
  };
  const sent = await Promise.all([first, second, last].map(send));
  await erase(clerk, user);
  const addressOf = async (id: string) =>
    (await sql`select address from notification_recipients where notification_id = ${id}`)[0]?.address;
  assert.deepEqual(await Promise.all(sent.map(addressOf)), ["erased", second, "erased"]);
});

Deno.test("messages to the address are erased, whether its domain is written in ASCII or in Unicode", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const forms = [`Ida.${mark}@BÜCHER.example`, `ida.${mark}@xn--bcher-kva.example`];
  const user = await createUser(clerk, { email: forms[0], firstName: "Ida" });
  const recipients = forms.map((address) => ({ address }));
  const sent = await Promise.all(recipients.map(async (recipient) => {
    const message = {
      channel: "Email",
      category: "news",
      recipients: [recipient],
      subject: "To",
      textBody: "Dear Ida",
    };
    const { body } = await clerk.post("/api/v1/notifications/send", message);
    const [{ userId, address }] =
      (await accepted(clerk.get(`/api/v1/notifications/${body.notificationId}`))).recipients;
    assert.deepEqual([userId, address], [user, recipient.address], "their preferences apply");
    return body.notificationId as string;
  }));
  await erase(clerk, user);
  const left = await sql`
    select distinct address from notification_recipients where notification_id = any(${sent}::uuid[])`;
  assert.deepEqual([...left], [{ address: "erased" }]);
});

Deno.test("a failed message is sent again to its other recipients only, and to nobody if there is no other", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = crypto.randomUUID().slice(0, 8);
  const [email, other] = [`gone.${mark}@personal.example`, `other.${mark}@firm.example`];
  const user = await createUser(clerk, { email, firstName: "Gone" });
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
  await erase(clerk, user);
  const retry = (id: string) => clerk.post(`/api/v1/notifications/${id}/retry`, {});
  await refused("400 NOTIFICATION_CANNOT_RETRY", retry(alone));
  await accepted(retry(both));
  const [job] = await sql`select job_id from notifications where id = ${both}`;
  assert.equal(await t.settled(job?.jobId), "Succeeded");
  const rows = await sql`
    select address, status from notification_recipients where notification_id = ${both} order by address`;
  assert.deepEqual(rows.map((row) => [row.address, row.status]), [["erased", "Refused"], [other, "Sent"]]);
});

Deno.test("an erased user is gone at once, also for sign-ins meanwhile, and the email is free", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  const tokens = [await sessionOf(her.email)];
  const path = `/api/v1/users/${her.id}/erase`;
  const ask = () => clerk.post(path, { reason: "asked" });
  const [signedIn, ...answers] = await Promise.all([signIn(t, her.email), ask(), ask()]);
  assert.deepEqual(answers.map(({ status }) => status), [202, 202]);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1, "simultaneous ones are one erasure");
  if (signedIn.body.accessToken) tokens.push(signedIn.body.accessToken);
  for (const token of tokens) {
    const { status } = await t.nobody.get("/api/v1/auth/me", { authorization: `Bearer ${token}` });
    assert.equal(status, 401);
  }
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, her.email));
  await refused("404 USER_NOT_FOUND", clerk.get(`/api/v1/users/${her.id}`));
  const next = await createUser(clerk, { email: her.email, firstName: "New" });
  await ended(clerk, answers[0]?.body.statusUrl);
  assert.equal((await clerk.get(`/api/v1/users/${next}`)).body.email, her.email, "the new user stays");
  assert.equal((await sql`select from sessions where user_id = ${her.id}`).length, 0);
  assert.equal((await clerk.post(path, { reason: "other" })).body.reason, "asked");
  const log = await clerk.get(`/api/v1/audit-log?targetId=${her.id}&action=user.erase`);
  assert.equal(log.body.totalCount, 1);
});

Deno.test("nobody erases themself, or a user of other tenants without permission for all users", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const other = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const path = `/api/v1/users/${him.id}/erase`;
  const reason = { reason: "asked" };
  const admin = t.systemAdmin;
  await refused(
    "409 USER_SELF_CONFLICT",
    clerk.post(`/api/v1/users/${clerk.userId}/erase`, reason),
    admin.post(`/api/v1/admin/users/${admin.userId}/erase`, reason),
  );
  const link = { tenantId: other.tenantId, roleIds: [other.roleId] };
  await accepted(admin.post(`/api/v1/admin/users/${him.id}/tenants`, link));
  await refused("403 CROSS_TENANT_FORBIDDEN", clerk.post(path, reason), other.post(path, reason));
  await accepted(clerk.get(`/api/v1/users/${him.id}`));
  const erasure = await done(admin, `/api/v1/admin/users/${him.id}/erase`, reason);
  const requests = `/api/v1/users/${him.id}/data-requests`;
  await refused("404 DATA_REQUEST_NOT_FOUND", clerk.get(`${requests}/${erasure.id}`));
  assert.deepEqual((await clerk.get(requests)).body, []);
  assert.equal((await admin.get(`/api/v1/admin/users/${him.id}/data-requests`)).body[0].id, erasure.id);
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
