import assert from "node:assert/strict";
import { readSigningSecrets } from "../../../domain/jobs/remote/signing_secrets.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const permissions = ["manage:job-types"];
const tenant = await t.actor({ permissions });
const outsider = await t.actor({ permissions });
const platform = await t.actor({ role: "SystemAdmin", global: true });

let count = 0;
const newName = () => `orders.type-${++count}`;
const at = (name: string) => `/api/v1/job-types/${name}`;
const enqueue = (jobTypeName: string, args: unknown, by = tenant) =>
  by.post("/api/v1/jobs", { jobTypeName, serializedArgs: JSON.stringify(args) });

Deno.test("a type is declared with defaults, read, listed, changed and deleted", async () => {
  const name = newName();
  const { status, body, headers } = await tenant.put(at(name), {});
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(headers.get("location"), at(name));
  assert.equal(headers.get("etag"), '"1"');
  const { secret, createdAt, updatedAt, ...shown } = body;
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.ok(createdAt && updatedAt);
  assert.deepEqual(shown, {
    name,
    tenantId: tenant.tenantId,
    description: null,
    argsSchema: null,
    timeoutSeconds: 300,
    maxRetries: 3,
    concurrency: null,
    rateLimit: null,
    secretArgs: [],
    push: null,
    createdBy: tenant.userId,
  });
  const again = await tenant.put(at(name), {});
  assert.deepEqual([again.status, again.headers.get("etag"), again.body.secret], [200, '"1"', undefined]);
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
  const changed = await tenant.put(at(name), full);
  assert.deepEqual([changed.status, changed.headers.get("etag")], [200, '"2"']);
  const { updatedAt: _, ...expected } = { ...body, ...full };
  delete expected.secret;
  assert.deepEqual({ ...changed.body, updatedAt: undefined }, { ...expected, updatedAt: undefined });
  assert.deepEqual((await tenant.get(at(name))).body, changed.body);
  const listed = (await tenant.get("/api/v1/job-types?pageSize=100")).body.items;
  assert.deepEqual(listed.find((type: { name: string }) => type.name === name), changed.body);
  const cleared = await tenant.put(at(name), {
    argsSchema: null,
    timeoutSeconds: null,
    maxRetries: null,
    concurrency: null,
    rateLimit: null,
    secretArgs: null,
    push: null,
  });
  assert.deepEqual(
    { ...cleared.body, updatedAt: undefined },
    { ...shown, createdAt, description: full.description, updatedAt: undefined },
  );
  assert.equal((await tenant.put(at(name), {}, { "if-match": '"1"' })).status, 412);
  assert.equal((await tenant.delete(at(name), { "if-match": '"1"' })).status, 412);
  assert.equal((await tenant.delete(at(name), { "if-match": '"3"' })).status, 204);
  for (const gone of [await tenant.get(at(name)), await tenant.delete(at(name))]) {
    assert.deepEqual([gone.status, gone.body.code], [404, "JOB_TYPE_NOT_FOUND"]);
  }
  const revived = await tenant.put(at(name), {});
  assert.equal(revived.status, 201);
  assert.notEqual(revived.body.secret, secret);
});

Deno.test("every change has an audit row, without the secret", async () => {
  const name = newName();
  await tenant.put(at(name), {});
  await tenant.put(at(name), { maxRetries: 9 });
  await tenant.put(at(name), { maxRetries: 9 });
  await tenant.delete(at(name));
  const rows = await t.steward.platform.sql<{ action: string; row: string }[]>`
    select action, row_to_json(a)::text as row from audit_log a where target_id = ${name} order by id`;
  assert.deepEqual(rows.map(({ action }) => action), ["jobType.create", "jobType.update", "jobType.delete"]);
  for (const { row } of rows) assert.ok(!row.includes("whsec_"));
});

Deno.test("malformed names, reserved names and malformed members are refused", async () => {
  for (const name of ["A", "-a", "a_b", "a".repeat(101), "a%20b"]) {
    assert.equal((await tenant.put(at(name), {})).body.code, "VALIDATION_ERROR", name);
  }
  for (const name of ["steward.echo", "steward.mine", "files.scan"]) {
    assert.deepEqual(Object.keys((await tenant.put(at(name), {})).body.errors), ["name"], name);
  }
  const refused: [string, unknown][] = [
    ["timeoutSeconds", 0],
    ["maxRetries", 26],
    ["concurrency", 0],
    ["rateLimit", { count: 0, perSeconds: 1 }],
    ["rateLimit", { count: 1, perSeconds: 1, key: "customer" }],
    ["rateLimit", { count: 1, perSeconds: 1, key: "$.*.id" }],
    ["secretArgs", ["card"]],
    ["push", { url: "ftp://product.example" }],
    ["argsSchema", { type: "wrong" }],
    ["argsSchema", { $ref: "https://json-schema.org/draft/2020-12/schema" }],
    ["argsSchema", { $ref: "#/$defs/absent" }],
    ["argsSchema", { description: "x".repeat(33_000) }],
  ];
  for (const [member, value] of refused) {
    const { status, body } = await tenant.put(at(newName()), { [member]: value });
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], JSON.stringify(value).slice(0, 100));
  }
  const withKey = await tenant.put(at(newName()), {}, { "idempotency-key": "k1" });
  assert.equal(withKey.status, 400);
});

Deno.test("a type belongs to its tenant, and one of the platform to all", async () => {
  const own = newName();
  await tenant.put(at(own), { description: "mine" });
  assert.equal((await outsider.get(at(own))).status, 404);
  assert.equal((await enqueue(own, {}, outsider)).body.code, "JOB_TYPE_UNKNOWN");
  assert.equal((await outsider.put(at(own), { description: "theirs" })).status, 201);
  assert.equal((await tenant.get(at(own))).body.description, "mine");
  assert.equal((await platform.put(at(own), {})).body.code, "JOB_TYPE_NAME_CONFLICT");

  const shared = newName();
  const declared = await platform.put(at(shared), {});
  assert.deepEqual([declared.status, declared.body.tenantId], [201, null]);
  assert.equal((await tenant.get(at(shared))).body.tenantId, null);
  assert.equal((await tenant.put(at(shared), {})).body.code, "JOB_TYPE_NAME_CONFLICT");
  assert.equal((await tenant.delete(at(shared))).body.code, "JOB_TYPE_NOT_FOUND");
  for (const by of [tenant, outsider]) assert.equal((await enqueue(shared, {}, by)).status, 201);
  assert.equal((await platform.delete(at(shared))).body.code, "JOB_TYPE_IN_USE_CONFLICT");
});

Deno.test("simultaneous declarations of a name make one type", async () => {
  const name = newName();
  const answers = await Promise.all(Array.from({ length: 8 }, () => tenant.put(at(name), {})));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array(7).fill(200), 201]);
  const both = newName();
  const [one, other] = await Promise.all([tenant.put(at(both), {}), platform.put(at(both), {})]);
  assert.deepEqual([one.status, other.status].toSorted(), [201, 409]);
});

Deno.test("permissions are needed", async () => {
  const powerless = await t.actor();
  for (const answer of [await powerless.get("/api/v1/job-types"), await powerless.put(at("a"), {})]) {
    assert.deepEqual([answer.status, answer.body.code], [403, "MISSING_PERMISSION"]);
  }
});

Deno.test("arguments are checked against the schema, alone, in bulk and of recurring jobs", async () => {
  const name = newName();
  await tenant.put(at(name), {
    argsSchema: {
      type: "object",
      properties: { to: { $ref: "#/$defs/id" } },
      required: ["to"],
      $defs: { id: { type: "integer" } },
    },
  });
  assert.equal((await enqueue(name, { to: 1 })).status, 201);
  const refused = await enqueue(name, { to: "x" });
  assert.deepEqual([refused.status, refused.body.errors], [400, { serializedArgs: ["to: must be integer"] }]);
  const item = (args: unknown) => ({ jobTypeName: name, serializedArgs: JSON.stringify(args) });
  const bulk = await tenant.post("/api/v1/jobs/bulk", {
    items: [item({ to: 1 }), item({}), item({ to: 2 })],
    continueOnError: true,
  });
  assert.deepEqual([bulk.body.succeeded, bulk.body.failed], [2, 1]);
  const recurring = { jobId: name, cronExpression: "0 4 * * *", ...item({ to: null }) };
  assert.equal((await tenant.post("/api/v1/recurring-jobs", recurring)).status, 400);
  assert.equal(
    (await tenant.post("/api/v1/recurring-jobs", { ...recurring, ...item({ to: 3 }) })).status,
    201,
  );
  assert.equal((await tenant.put(`/api/v1/recurring-jobs/${name}`, { serializedArgs: "{}" })).status, 400);
  assert.equal((await tenant.post(`/api/v1/recurring-jobs/${name}/trigger`)).status, 200);
  await tenant.put(at(name), { argsSchema: null });
  assert.equal((await enqueue(name, { to: "x" })).status, 201, "a changed schema applies at once");
});

Deno.test("declared types are among the types that callers can enqueue", async () => {
  const name = newName();
  await tenant.put(at(name), { argsSchema: { type: "object" }, timeoutSeconds: 7, concurrency: 2 });
  const types = (await tenant.get("/api/v1/jobs/types")).body;
  assert.deepEqual(types.find((type: { name: string }) => type.name === name), {
    name,
    argsSchema: { type: "object" },
    timeoutMs: 7_000,
    maxRetries: 3,
    concurrency: 2,
    rateLimit: null,
    pause: null,
  });
  const theirs = (await outsider.get("/api/v1/jobs/types")).body;
  assert.ok(!theirs.some((type: { name: string }) => type.name === name));
});

Deno.test("secret arguments are stored as given and shown as ***, also after the type was deleted", async () => {
  const name = newName();
  await tenant.put(at(name), { secretArgs: ["$.card.*"] });
  const args = { card: { number: "4111" }, to: "Ada" };
  const hidden = JSON.stringify({ card: { number: "***" }, to: "Ada" });
  const { body } = await enqueue(name, args);
  const { sql } = t.steward.platform;
  const [stored] = await sql<
    { serializedArgs: string }[]
  >`select serialized_args from jobs where id = ${body.id}`;
  assert.equal(stored?.serializedArgs, JSON.stringify(args));
  const shownTo = async (by: typeof tenant) => (await by.get(`/api/v1/jobs/${body.id}`)).body.serializedArgs;
  assert.deepEqual([body.serializedArgs, await shownTo(tenant), await shownTo(platform)], [
    hidden,
    hidden,
    hidden,
  ]);
  assert.equal((await enqueue(name, { card: { number: "***" } })).status, 400);
  const recurring = {
    jobId: name,
    jobTypeName: name,
    cronExpression: "0 4 * * *",
    serializedArgs: JSON.stringify(args),
  };
  assert.equal((await tenant.post("/api/v1/recurring-jobs", recurring)).body.serializedArgs, hidden);
  await tenant.post(`/api/v1/jobs/${body.id}/cancel`);
  await tenant.put(at(name), { secretArgs: [] });
  assert.equal(await shownTo(tenant), hidden);
  assert.equal((await tenant.delete(at(name))).status, 204);
  assert.equal(await shownTo(tenant), hidden);
  assert.equal((await tenant.get(`/api/v1/recurring-jobs/${name}`)).body.serializedArgs, hidden);
});

Deno.test("a rotated secret replaces the first one, which also signs for a day; both are forgotten with the type", async () => {
  const name = newName();
  const { body: { secret } } = await tenant.put(at(name), { push: { url: "https://product.example/jobs" } });
  const rotate = (by = tenant, headers = {}) => by.post(`${at(name)}/rotate-secret`, undefined, headers);
  const { sql } = t.steward.platform;
  const secrets = async () => {
    const [row] = await sql<{ id: string }[]>`select id from job_types where name = ${name}`;
    return await readSigningSecrets(sql, row?.id ?? "");
  };
  const first = await rotate();
  assert.deepEqual([first.status, first.body.oldSecretHours], [200, 24]);
  const second = await rotate();
  assert.deepEqual(await secrets(), [second.body.secret, first.body.secret, secret]);
  assert.ok(!JSON.stringify((await tenant.get(at(name))).body).includes("whsec_"));
  await sql`update job_type_old_secrets set valid_until = now() where secret = ${secret}`;
  assert.deepEqual(await secrets(), [second.body.secret, first.body.secret]);

  assert.equal((await rotate(tenant, { "idempotency-key": "k2" })).status, 400);
  assert.equal((await rotate(outsider)).body.code, "JOB_TYPE_NOT_FOUND");
  assert.equal((await rotate(await t.actor({ permissions: [] }))).body.code, "MISSING_PERMISSION");
  const rows = await sql<{ row: string }[]>`
    select row_to_json(a)::text as row from audit_log a
    where target_id = ${name} and action = 'jobType.rotate-secret'`;
  assert.equal(rows.length, 2);
  for (const { row } of rows) assert.ok(!row.includes("whsec_"));

  await tenant.delete(at(name));
  const again = await tenant.put(at(name), {});
  assert.deepEqual(await secrets(), [again.body.secret]);
});

Deno.test("a type is not pushed to a private address", async () => {
  for (
    const url of ["http://localhost:1/jobs", "http://169.254.169.254/", "http://user:word@product.example/"]
  ) {
    const { status, body } = await tenant.put(at(newName()), { push: { url } });
    assert.deepEqual([status, Object.keys(body.errors)], [400, ["push.url"]], url);
  }
});
