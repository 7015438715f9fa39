import assert from "node:assert/strict";
import { readSigningSecrets } from "../../../domain/jobs/types/signing_secrets.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { registerJobTypes } from "../../../domain/job_types.ts";
import { invalid } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { assertHas, jobOf, JOBS, readJob, RECURRING, refusal } from "./job_calls.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t.steward.platform;
const permissions = ["manage:job-types"];
const tenant = await t.actor({ permissions });
const outsider = await t.actor({ permissions });
const platform = await t.actor({ role: "SystemAdmin", global: true });

let count = 0;
const newName = () => `orders.type-${++count}`;
const at = (name: string) => `/api/v1/job-types/${name}`;
const enqueue = (type: string, args: unknown, by = tenant) => by.post(JOBS, jobOf(type, args));
/** The actions recorded for a type. No row may contain a secret. */
async function auditOf(name: string): Promise<string> {
  const rows = await sql<{ action: string; row: string }[]>`
    select action, row_to_json(a)::text as row from audit_log a where target_id = ${name} order by id`;
  for (const { row } of rows) assert.ok(!row.includes("whsec_"));
  return rows.map(({ action }) => action.replace("jobType.", "")).join();
}

Deno.test("the sample types exist in development only", async () => {
  const namesIn = async (isProduction: boolean) => {
    const jobTypes = new JobTypes();
    const { platform } = t.steward;
    await registerJobTypes({ ...platform, jobTypes, config: { ...platform.config, isProduction } }, []);
    return jobTypes.exposedNames();
  };
  const samples = ["steward.echo", "steward.fail", "steward.sleep"];
  const inDevelopment = await namesIn(false);
  assert.deepEqual(await namesIn(true), inDevelopment.filter((name) => !samples.includes(name)));
  assert.ok(samples.every((name) => inDevelopment.includes(name)));
});

Deno.test("a type is declared with defaults, which null restores; a deleted one can be declared again", async () => {
  const name = newName();
  const { createdAt: _, updatedAt: __, ...shown } = (await tenant.put(at(name), {})).body;
  const nulls = { argsSchema: null, concurrency: null, rateLimit: null, push: null };
  const defaults = { ...nulls, timeoutSeconds: 300, maxRetries: 3, secretArgs: [] };
  const { tenantId, userId: createdBy } = tenant;
  assert.deepEqual(shown, { name, tenantId, description: null, ...defaults, createdBy });
  const again = await tenant.put(at(name), {});
  assert.deepEqual([again.status, again.headers.get("etag")], [200, '"1"']);
  const full = {
    description: "Sends an order",
    argsSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    timeoutSeconds: 60,
    maxRetries: 0,
    concurrency: 5,
    rateLimit: { count: 10, perSeconds: 60, key: "$.customer.id" },
    secretArgs: ["$.card.number"],
    push: { url: "https://product.example/jobs" },
  };
  const { body: { secret, ...changed } } = await tenant.put(at(name), full);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assertHas(changed, full);
  assert.deepEqual((await tenant.get(at(name))).body, changed);
  const cleared = { ...nulls, timeoutSeconds: null, maxRetries: null, secretArgs: null };
  assertHas((await tenant.put(at(name), cleared)).body, { ...defaults, description: full.description });
  await accepted(tenant.delete(at(name)), 204);
  await accepted(tenant.put(at(name), {}), 201);
});

Deno.test("reserved names and malformed members are refused", async () => {
  for (const name of ["steward.mine", "files.scan", "a_b"]) invalid(await tenant.put(at(name), {}), "name");
  const wrong: [member: string, ...values: unknown[]][] = [
    ["rateLimit", { count: 1, perSeconds: 1, key: "customer" }, { count: 1, perSeconds: 1, key: "$.*.id" }],
    ["secretArgs", ["card"]],
    ["push", { url: "ftp://product.example" }, { url: "http://169.254.169.254/" }, {
      url: "http://user:word@product.example/",
    }],
    ["argsSchema", { type: "wrong" }, { description: "x".repeat(33_000) }],
  ];
  for (const [member, ...values] of wrong) {
    for (const value of values) {
      const { body: { errors } } = await tenant.put(at(newName()), { [member]: value });
      assert.match(Object.keys(errors).join(), new RegExp(`^${member}`), JSON.stringify(value));
    }
  }
});

Deno.test("a type belongs to its tenant, and one of the platform to all", async () => {
  const own = newName();
  await tenant.put(at(own), { description: "mine" });
  assert.equal(refusal(await enqueue(own, {}, outsider)), "400 JOB_TYPE_UNKNOWN");
  assert.equal((await outsider.put(at(own), { description: "theirs" })).status, 201);
  assert.equal((await tenant.get(at(own))).body.description, "mine");
  assert.equal(refusal(await platform.put(at(own), {})), "409 JOB_TYPE_NAME_CONFLICT");

  const shared = newName();
  assertHas(await platform.put(at(shared), {}), { status: 201, body: { tenantId: null } });
  assert.equal((await tenant.get(at(shared))).body.tenantId, null);
  assert.equal(refusal(await tenant.put(at(shared), {})), "409 JOB_TYPE_NAME_CONFLICT");
  assert.equal(refusal(await tenant.delete(at(shared))), "404 JOB_TYPE_NOT_FOUND");
  for (const by of [tenant, outsider]) assert.equal((await enqueue(shared, {}, by)).status, 201);
  assert.equal(refusal(await platform.delete(at(shared))), "409 JOB_TYPE_IN_USE_CONFLICT");
});

Deno.test("simultaneous declarations of a name make one type", async () => {
  const statusesOf = async (...puts: ReturnType<typeof tenant.put>[]) =>
    (await Promise.all(puts)).map(({ status }) => status).sort();
  const [name, both] = [newName(), newName()];
  const answers = [1, 2, 3].map(() => tenant.put(at(name), {}));
  assert.deepEqual(await statusesOf(...answers), [200, 200, 201]);
  assert.deepEqual(await statusesOf(tenant.put(at(both), {}), platform.put(at(both), {})), [201, 409]);
});

Deno.test("a type is deleted, or jobs of it that are enqueued meanwhile stay, never both", async () => {
  const outcomes = new Set<string>();
  for (let round = 0; round < 24; round++) {
    const name = newName();
    await tenant.put(at(name), {});
    const { id } = (await enqueue(name, {})).body;
    await tenant.post(`${JOBS}/${id}/cancel`);
    const bulk = { items: [jobOf(name, {}, { uniqueKey: "one" })] };
    const enqueuing = [
      () => enqueue(name, {}),
      () => tenant.post(`${JOBS}/bulk`, bulk),
      () => tenant.post(`${JOBS}/${id}/retry`),
    ][round % 3];
    const [deleted, enqueued] = await Promise.all([tenant.delete(at(name)), enqueuing?.()]);
    outcomes.add(
      [deleted, enqueued].map((answer) => answer?.status === 400 ? refusal(answer) : answer?.status).join(),
    );
  }
  const expected = ["204,400 JOB_TYPE_UNKNOWN", "409,200", "409,201"];
  assert.deepEqual([...outcomes].filter((outcome) => !expected.includes(outcome)), []);
});

Deno.test("arguments are checked against the schema, alone, in bulk and of recurring jobs", async () => {
  const name = newName();
  const to = { $ref: "#/$defs/id" };
  const $defs = { id: { type: "integer" } };
  await tenant.put(at(name), { argsSchema: { type: "object", properties: { to }, required: ["to"], $defs } });
  assert.equal((await enqueue(name, { to: 1 })).status, 201);
  const refused = await enqueue(name, { to: "x" });
  assert.deepEqual([refused.status, refused.body.errors], [400, { serializedArgs: ["to: must be integer"] }]);
  const items = [{ to: 1 }, {}, { to: 2 }].map((args) => jobOf(name, args));
  const bulk = await tenant.post(`${JOBS}/bulk`, { items, continueOnError: true });
  assertHas(bulk.body, { succeeded: 2, failed: 1 });
  const schedule = (args: unknown) =>
    tenant.post(RECURRING, jobOf(name, args, { jobId: name, cronExpression: "0 4 * * *" }));
  assert.deepEqual([(await schedule({ to: null })).status, (await schedule({ to: 3 })).status], [400, 201]);
  assert.equal((await tenant.put(`${RECURRING}/${name}`, { serializedArgs: "{}" })).status, 400);
  assert.equal((await tenant.post(`${RECURRING}/${name}/trigger`)).status, 200);
  await tenant.put(at(name), { argsSchema: null });
  assert.equal((await enqueue(name, { to: "x" })).status, 201, "a changed schema applies at once");
});

Deno.test("declared types are among the types that callers can enqueue", async () => {
  const name = newName();
  const given = { argsSchema: { type: "object" }, concurrency: 2 };
  await tenant.put(at(name), { ...given, timeoutSeconds: 7 });
  const seenBy = async (who: typeof tenant) =>
    (await who.get(`${JOBS}/types`)).body.find((type: { name: string }) => type.name === name);
  const others = { timeoutMs: 7_000, maxRetries: 3, rateLimit: null, pause: null };
  assert.deepEqual(await seenBy(tenant), { name, ...given, ...others });
  assert.equal(await seenBy(outsider), undefined);
});

Deno.test("secret arguments are stored as given and shown as ***, also after the type was deleted", async () => {
  const name = newName();
  await tenant.put(at(name), { secretArgs: ["$.card.*"] });
  const args = { card: { number: "4111" }, to: "Ada" };
  const hidden = JSON.stringify({ card: { number: "***" }, to: "Ada" });
  const { body } = await enqueue(name, args);
  const [stored] = await sql`select serialized_args from jobs where id = ${body.id}`;
  assert.equal(stored?.serializedArgs, JSON.stringify(args));
  assert.equal((await enqueue(name, { card: { number: "***" } })).status, 400);
  const timing = { jobId: name, cronExpression: "0 4 * * *" };
  const recurring = await tenant.post(RECURRING, jobOf(name, args, timing));
  const seen = [body, recurring.body, await readJob(tenant, body.id), await readJob(platform, body.id)];
  await tenant.post(`${JOBS}/${body.id}/cancel`);
  await tenant.put(at(name), { secretArgs: [] });
  seen.push(await readJob(tenant, body.id));
  assert.equal((await tenant.delete(at(name))).status, 204);
  seen.push(await readJob(tenant, body.id), (await tenant.get(`${RECURRING}/${name}`)).body);
  assert.deepEqual(seen.map(({ serializedArgs }) => serializedArgs), Array(7).fill(hidden));
});

Deno.test("a secret is shown when pushes begin, and not without them", async () => {
  const name = newName();
  const push = { url: "https://product.example/jobs" };
  const put = async (body: unknown) => (await tenant.put(at(name), body)).body.secret;
  assert.equal(await put({}), undefined);
  const secret = await put({ push });
  assert.match(secret, /^whsec_/);
  assert.equal(await put({ push: { url: `${push.url}/new` } }), undefined);
  assert.equal(await put({ push: null }), undefined);
  const later = await put({ push });
  assert.match(later, /^whsec_/);
  assert.notEqual(later, secret);
});

Deno.test("a rotated secret replaces the first one, which also signs for a day; both are forgotten with the type", async () => {
  const name = newName();
  const { body: { secret } } = await tenant.put(at(name), { push: { url: "https://product.example/jobs" } });
  const rotate = () => tenant.post(`${at(name)}/rotate-secret`);
  const secrets = async () => {
    const [row] = await sql<{ id: string }[]>`select id from job_types where name = ${name}`;
    return await readSigningSecrets(sql, row?.id ?? "");
  };
  const first = await rotate();
  assertHas(first, { status: 200, body: { oldSecretHours: 24 } });
  const second = await rotate();
  assert.deepEqual(await secrets(), [second.body.secret, first.body.secret, secret]);
  const [old] = await sql`select extract(epoch from valid_until - now())::float8 / 3600 as hours
    from job_type_old_secrets where secret = ${first.body.secret}`;
  assert.ok(old?.hours > 23 && old?.hours <= 24);
  assert.ok(!JSON.stringify((await tenant.get(at(name))).body).includes("whsec_"));
  await sql`update job_type_old_secrets set valid_until = now() - interval '1 ms' where secret = ${secret}`;
  assert.deepEqual(await secrets(), [second.body.secret, first.body.secret]);
  assert.equal(await auditOf(name), "create,rotate-secret,rotate-secret");
  await tenant.delete(at(name));
  const again = await tenant.put(at(name), { push: { url: "https://product.example/jobs" } });
  assert.deepEqual(await secrets(), [again.body.secret]);
});
