import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { has, pluck } from "../../support/answers.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { insertLink } from "../access/users.ts";
import { tokenOf, withJobs } from "../auth/mails.ts";
import { racing } from "../auth/people.ts";
import { enqueueJob } from "../jobs/job_calls.ts";
import { until } from "../../support/until.ts";
import {
  CLERK,
  columnsWith,
  createUser,
  done,
  ended,
  PASSWORD,
  sendMail,
  signIn,
  tablesWith,
  textColumns,
} from "./support.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const GONE = "404 USER_NOT_FOUND";
const ENDED = "401 SESSION_INVALIDATED";
const newMark = () => crypto.randomUUID().slice(0, 8);

interface Person {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string;
  texts: string[];
}

/** Creates a user with values that occur nowhere else. */
async function person(by: Actor): Promise<Person> {
  const mark = newMark();
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
  const clerk = await t.actor({ permissions: [...CLERK, "manage:job-types"] });
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
  await sql`insert into registration_settings (tenant_id, mode, domains) values (${clerk.tenantId}, 'open', '{}')`;
  await accepted(t.nobody.post("/api/v1/auth/register", { tenantId: clerk.tenantId, email: him.email }));
  const newEmail = `wanted.${him.id}@personal.example`; // never confirmed
  await withJobs(t, () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, mine));
  texts.push(newEmail);
  const changed = { externalId: `EXT${him.lastName}`, phoneNumber: him.phoneNumber };
  await clerk.put(`/api/v1/users/${him.id}`, changed);
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
  await sendMail(clerk, [him.id], { channel: "InApp", textBody: body });
  const suppression = { channel: "Email", address: him.email, detail: body };
  await clerk.post("/api/v1/notification-suppressions", suppression);
  const args = { to: him.email, tel: him.phoneNumber };
  await t.settled(await enqueueJob(clerk, "steward.echo", args, { uniqueKey: him.email }));
  const argsSchema = { properties: { to: { "x-searchable": true } } };
  await accepted(clerk.put("/api/v1/job-types/letters.send", { argsSchema }), 201);
  const letter = await enqueueJob(clerk, "letters.send", args);
  const lettersTo = async (address: string) =>
    pluck((await clerk.get(`/api/v1/jobs?args.to=${address}`)).body.items, "id").flat();
  assert.deepEqual(await lettersTo(him.email), [letter]);
  const daily = { cronExpression: "0 4 * * *" };
  const recurring = { jobId: "daily", jobTypeName: "steward.echo", ...daily };
  await clerk.post("/api/v1/recurring-jobs", { ...recurring, serializedArgs: JSON.stringify([him.email]) });
  const delivery = { method: 2, recipients: [him.email, "other@corp.example"] };
  const report = { templateId: "users", name: "Users", ...daily, format: 3, delivery };
  const schedule = await clerk.post("/api/v1/reports/schedules", report);
  await clerk.put(`/api/v1/reports/schedules/${schedule.body.id}`, { name: "Users daily" });
  await sql`insert into audit_log (id, tenant_id, actor_id, action, target_type, target_id, after, ip)
    values (${crypto.randomUUID()}, ${clerk.tenantId}, ${him.id}, 'user.update', 'user', ${him.id},
      ${JSON.stringify({ firstName: him.firstName, isActive: true })}::text::jsonb, '203.0.113.77')`;
  await sql`with import as (
      insert into user_imports (id, tenant_id, file_id, is_dry_run, created_by, is_service_account, permissions, trace_id)
      values (${newId()}, ${clerk.tenantId}, gen_random_uuid(), true, ${clerk.userId}, false, '{}', '0')
      returning id)
    insert into user_import_rows (import_id, row, email, outcome, errors)
    select id, 7, ${him.email}, 'failed', '{}' from import`;

  const before = await columnsWith(sql, texts);
  const columns = `users.email users.metadata user_tenants.external_id audit_values.after audit_log.after
    notifications.text_body notification_recipients.address user_notifications.body events.data
    jobs.serialized_args jobs.unique_key jobs.search_keys jobs.output recurring_jobs.serialized_args report_schedules.delivery_json
    notification_suppressions.address webhook_deliveries.body idempotency_keys.body user_import_rows.email`;
  for (const column of columns.split(/\s+/)) {
    assert.ok(before.some((found) => found.startsWith(`${column}:`)), `${column} has nothing to erase`);
  }

  const unconfirmed = before.filter((found) => found.endsWith(`: ${newEmail}`)).join("\n");
  assert.match(unconfirmed, /^notification_recipients\.address:/m);
  assert.doesNotMatch(unconfirmed, /^jobs?[._]/m);
  const erasure = await erase(clerk, him.id, "asked by letter");
  assert.equal(erasure.kind, "UserErasure");
  assert.deepEqual(await columnsWith(sql, [...texts, "203.0.113.77"]), []);
  assert.ok((await textColumns(sql)).length > 200, "the columns were not found");
  assert.deepEqual(await lettersTo(him.email), []);
  assert.deepEqual(await lettersTo("erased@erased.invalid"), [letter]);
  // The tenant still lists the user among deleted ones; the request has the status.
  assert.deepEqual(await tablesWith(sql, ["user_id"], him.id), ["data_requests", "user_tenants"]);

  const { body: cancelled } = await clerk.get(`/api/v1/notifications/${scheduled.body.notificationId}`);
  assert.equal(cancelled.status, "Cancelled");
  const kept = await clerk.get(`/api/v1/reports/schedules/${schedule.body.id}`);
  assert.ok(kept.body.deliveryOptionsJson.includes("other@corp.example"), "other recipients stay");
  const log = await clerk.get(`/api/v1/audit-log?targetId=${him.id}&pageSize=100`);
  const rows = Map.groupBy<string, Record<string, unknown>>(log.body.items, ({ action }) => String(action));
  const [created] = rows.get("user.create") ?? [];
  assert.ok(created?.valuesErasedAt);
  // values that are not personal stay
  has(created, { actorId: clerk.userId, after: { isActive: true, email: undefined } });
  const own = log.body.items.filter(({ actorId }: { actorId: string }) => actorId === him.id);
  assert.deepEqual([...new Set(pluck(own, "ip", "actorEmail").flat())], [null]);
  assert.ok(own.length >= 3);
  has(rows.get("user.erase"), [{ after: { reason: "asked by letter" } }]);
});

Deno.test("what a request stores about a person whom an erasure overtakes is refused, and the link in an old mail stores nothing", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const { tenantId } = clerk;
  const permissions = ["read:users", "act-as:users", "manage:api-keys"];
  const { userId: other } = await t.actor({ tenantId: tenantId ?? "" });
  const own = "/api/v1/user-notifications";
  const requests: [refusal: string, request: (him: Actor) => Promise<HttpAnswer>][] = [
    [GONE, (him) => him.post(`${own}/devices?userId=${him.userId}`, { token: newMark() })],
    [GONE, (him) => him.put(`${own}/preferences?userId=${him.userId}`, { timeZoneId: "UTC" })],
    [ENDED, (him) => him.post("/api/v1/api-keys", { name: "his", permissions: ["read:users"] })],
    [ENDED, (him) => him.post(`/api/v1/users/${other}/act-as`, { reason: "his", minutes: 5 })],
    [ENDED, (him) => him.post("/api/v1/auth/me/export")],
  ];
  for (const [refusal, request] of requests) {
    const him = await t.actor({ tenantId: tenantId ?? "", permissions });
    const path = `/api/v1/users/${him.userId}/erase`;
    const asked = () => clerk.post(path, { reason: "asked" });
    assert.deepEqual(await racing(t, him.userId, asked, () => request(him)), ["202", refusal]);
    await erase(clerk, him.userId);
    const claim = { userId: him.userId, category: "news", tenantId };
    const token = await t.steward.platform.unsubscribeTokens.sign(claim, new Date());
    await accepted(t.nobody.post(`/api/v1/notifications/unsubscribe?token=${token}`));
    assert.deepEqual(await tablesWith(sql, ["user_id"], him.userId), ["data_requests", "user_tenants"]);
    const kinds = await sql`select kind from data_requests where user_id = ${him.userId}`;
    assert.deepEqual(pluck([...kinds], "kind"), ["UserErasure"]);
  }
});

Deno.test("the address goes from reasons, and longer addresses of others stay", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const email = `rita.${newMark()}@firm.example`;
  const others = [`${email}.br`, `ana${email}`, `ana&${email}`, `${email}-x.br`];
  const user = await createUser(clerk, { email, firstName: "Rita" });
  const textBody = `Ask ${email}. Not ${others.join(", not ")}.`;
  const sent = await sendMail(clerk, others.slice(0, 1), { textBody });
  const lines = ["To", email, others[0], email].join("\n");
  const job = await enqueueJob(clerk, "steward.echo", [lines]);
  await t.settled(job);
  await accepted(clerk.delete(`/api/v1/users/${user}`)); // a deleted user can be erased too
  await erase(clerk, user, `${email} wrote to us`);
  const [left] =
    await sql`select serialized_args, text_body, reason from jobs j, notifications n, data_requests r
    where j.id = ${job} and n.id = ${sent} and r.user_id = ${user}`;
  assert.deepEqual({ ...left }, {
    serializedArgs: JSON.stringify([lines.replaceAll(/^rita.*example$/gm, "erased@erased.invalid")]),
    textBody: `Ask erased@erased.invalid. Not ${others.join(", not ")}.`,
    reason: "erased@erased.invalid wrote to us",
  });
});

Deno.test("messages to each address that the person has or had are erased, however it is written, unless another user has it by now", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const mark = newMark();
  const [first = "", second = ""] = ["first", "second"].map((name) => `${name}.${mark}@personal.example`);
  const [unicode, ascii] = [`Ida.${mark}@BÜCHER.example`, `ida.${mark}@xn--bcher-kva.example`];
  const user = await createUser(clerk, { email: first, firstName: "Eva" });
  for (const [email, newEmail] of [[first, second], [second, unicode]] as const) {
    const me = { authorization: `Bearer ${await sessionOf(email)}` };
    const change = () => t.nobody.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }, me);
    const token = await tokenOf(t, newEmail, change);
    assert.equal((await t.nobody.post("/auth/confirm-email", { token })).status, 204);
  }
  await createUser(clerk, { email: second, firstName: "Next" });
  const sent = await Promise.all(
    [first, second, unicode, ascii].map((address) => sendMail(clerk, [address], { category: "news" })),
  );
  const recipientOf = async (id: string) =>
    (await sql`select user_id, address from notification_recipients where notification_id = ${id}`)[0];
  for (const id of sent.slice(2)) {
    assert.equal((await recipientOf(id))?.userId, user, "their preferences apply");
  }
  await erase(clerk, user);
  const left = (await Promise.all(sent.map(recipientOf))).map((row) => row?.address);
  assert.deepEqual(left, ["erased", second, "erased", "erased"]);
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

Deno.test("who gets the address of an erased user keeps the account, invitation and messages that came later", async () => {
  const clerk = await t.actor({ permissions: [...CLERK, "create:roles"] });
  const [{ id, email }, { email: invited, id: left }] = [await person(clerk), await person(clerk)];
  const role = await accepted(clerk.post("/api/v1/roles", { name: "Guest" }), 201);
  const schedule = async (address: string) => {
    const mail = { channel: "Email", recipients: [{ address }], subject: "To", textBody: `To ${address}` };
    const body = { notification: mail, scheduledAt: "2099-01-01T00:00:00Z" };
    return (await accepted(clerk.post("/api/v1/notifications/schedule", body))).notificationId;
  };
  const earlier = await schedule(email);
  const gate = Promise.withResolvers<void>();
  const waiting = { area: "waiting", eraseUsers: () => gate.promise };
  using _ = t.replace((p) => p, { personalData: [waiting, ...t.steward.platform.personalData] });
  const begun = await Promise.all(
    [id, left].map((user) => accepted(clerk.post(`/api/v1/users/${user}/erase`, { reason: "asked" }), 202)),
  );
  // Ids of the next second still count as those of the erasure.
  const over = Date.now() + 1_000;
  await until(() => Date.now() > over);
  const next = await createUser(clerk, { email, firstName: "New" });
  await accepted(clerk.post("/api/v1/users/invite", { email: invited, roleIds: [role.id] }), 201);
  const sent = await schedule(email);
  gate.resolve();
  for (const { statusUrl } of begun) await ended(clerk, statusUrl);
  const [kept] = await sql`select n.status, n.text_body, r.address from notifications n
    join notification_recipients r on r.notification_id = n.id where n.id = ${sent}`;
  assert.deepEqual({ ...kept }, { status: "Scheduled", textBody: `To ${email}`, address: email });
  assert.equal((await clerk.get(`/api/v1/notifications/${earlier}`)).body.status, "Cancelled");
  assert.equal((await sql`select from invitations where email = ${invited}`).count, 1);
  const [created] = await sql`select v.after from audit_values v join audit_log a on a.id = v.audit_id
    where a.target_id = ${next} and a.action = 'user.create'`;
  assert.equal(created?.after.email, email);
});

Deno.test("nobody erases themself, or a user of other tenants without permission for all users", async () => {
  const [clerk, other] = [await t.actor({ permissions: CLERK }), await t.actor({ permissions: CLERK })];
  const him = await person(clerk);
  const path = `/api/v1/users/${him.id}/erase`;
  const reason = { reason: "asked" };
  const admin = t.systemAdmin;
  await refused(
    "409 USER_SELF_CONFLICT",
    clerk.post(`/api/v1/users/${clerk.userId}/erase`, reason),
    admin.post(`/api/v1/admin/users/${admin.userId}/erase`, reason),
  );
  await insertLink(t, him.id, other.tenantId);
  await refused("403 CROSS_TENANT_FORBIDDEN", clerk.post(path, reason), other.post(path, reason));
  await accepted(clerk.get(`/api/v1/users/${him.id}`));
  const erasure = await done(admin, `/api/v1/admin/users/${him.id}/erase`, reason);
  const requests = `users/${him.id}/data-requests`;
  await refused("404 DATA_REQUEST_NOT_FOUND", clerk.get(`/api/v1/${requests}/${erasure.id}`));
  assert.deepEqual((await clerk.get(`/api/v1/${requests}`)).body, []);
  assert.equal((await admin.get(`/api/v1/admin/${requests}`)).body[0].id, erasure.id);
});

Deno.test("a failed message is sent again to its other recipients only, and to nobody if there is no other", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const [email, other] = [`gone.${newMark()}@personal.example`, `other.${newMark()}@firm.example`];
  const user = await createUser(clerk, { email, firstName: "Gone" });
  const failed = async (...addresses: string[]): Promise<string> => {
    const id = await sendMail(clerk, addresses);
    const [job] = await sql`select job_id from notifications where id = ${id}`;
    await t.settled(job?.jobId);
    await sql`update notification_recipients set status = 'Refused', sent_at = null where notification_id = ${id}`;
    await sql`update notifications set status = 'DeadLettered' where id = ${id}`;
    return id;
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

Deno.test("a mail that is being sent when its recipient is erased stores neither its content nor the address again", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const [her, other] = [await person(clerk), `other.${newMark()}@firm.example`];
  const slug = `letter-${newMark()}`;
  const texts = { subjectTemplate: "To {{name}}", htmlBodyTemplate: "<p>{{name}}</p>" };
  await accepted(clerk.post("/api/v1/notification-templates", { slug, name: "Letter", ...texts }), 201);
  const answered = Promise.withResolvers<void>();
  const outbox = t.steward.platform.mail[0]!;
  const slow: typeof outbox = {
    ...outbox,
    name: "slow",
    async send({ to }) {
      await answered.promise;
      const refused = to.map(({ address }) => ({
        address,
        reason: `550 one of ${to.map((each) => each.address).join(", ")} is full`,
        permanent: true,
      }));
      return { accepted: [], refused, response: "" };
    },
  };
  using _ = t.replace((p) => p, { mail: [slow] });
  const template = { templateSlug: slug, templateData: { name: her.firstName } };
  const ids = [
    await sendMail(clerk, [her.email], { ...template, textBody: null, subject: null }),
    await sendMail(clerk, [her.email, other], { textBody: "To both" }),
  ];
  const messages = () =>
    sql<{ jobId: string; status: string }[]>`
    select job_id, status from notifications where id = any(${ids}::uuid[])`;
  const sending = await until(messages, (rows) => rows.every(({ status }) => status === "Sending"));
  const { id, statusUrl } = await accepted(
    clerk.post(`/api/v1/users/${her.id}/erase`, { reason: "asked" }),
    202,
  );
  await until(async () =>
    (await sql`select from data_requests r join jobs j on j.id = r.job_id
    where r.id = ${id} and j.attempts > 0 and j.status <> 'Processing'`).count
  );
  answered.resolve();
  for (const { jobId } of sending) await t.settled(jobId);
  await ended(clerk, statusUrl);
  assert.deepEqual(await columnsWith(sql, her.texts), []);
  const errors = await sql`select from notification_recipients
    where address = ${other} and error_message like '550%' and status = 'Refused'`;
  assert.equal(errors.count, 1, "the result for others is kept");
});

Deno.test("an erasure that failed midway is finished by the next attempt", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const him = await person(clerk);
  const areas = t.steward.platform.personalData;
  let failures = 0;
  const failing = {
    area: "failing",
    eraseUsers: () => failures++ === 0 ? Promise.reject(new Error("lost the database")) : Promise.resolve(),
  };
  using _ = t.replace((p) => p, { personalData: [...areas.slice(0, 3), failing, ...areas.slice(3)] });
  const { body } = await clerk.post(`/api/v1/users/${him.id}/erase`, { reason: "asked" });
  const [job] = await sql`select job_id from data_requests where id = ${body.id}`;
  await t.settled(job?.jobId, ["Failed"]);
  await sql`update jobs set due_at = now() - interval '1 ms', status = 'Enqueued' where id = ${job?.jobId} and status = 'Failed'`;
  await t.steward.sweep();
  await ended(clerk, body.statusUrl);
  assert.equal(failures, 2);
  assert.deepEqual(await columnsWith(sql, him.texts), []);
});
