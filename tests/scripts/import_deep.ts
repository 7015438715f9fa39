import { hashSync } from "@node-rs/bcrypt";
import assert from "node:assert/strict";
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { join } from "node:path";
import { hashPassword } from "../../infra/passwords.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { makeScriptFolder, runScriptProcess, type ScriptResult } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";

const PASSWORD = "correct horse battery";
const RIGHTS = "create:users update:users read:roles create:roles upload:files read:files purge:files".split(
  " ",
);
const service = await setup();
const folder = await makeScriptFolder("steward-import-");
Deno.test.afterAll(async () => {
  await service.stop();
  await Deno.remove(folder, { recursive: true });
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await Deno.writeTextFile(path, typeof content === "string" ? content : `\ufeff${JSON.stringify(content)}`);
  return path;
}

type Three = [dry: ScriptResult, written: ScriptResult, repeated: ScriptResult];

/** Runs an import three times: dry, written, and repeated. */
async function importThrice(token: string | null, args: string[]): Promise<Three> {
  const env = { STEWARD_URL: service.url, STEWARD_TOKEN: token ?? "" };
  const run = (more: string[]) => runScriptProcess("import", [...args, ...more], { env });
  return [await run([]), await run(["--write"]), await run(["--write"])];
}

const signIn = async (email: string) =>
  (await service.nobody.post("/api/v1/auth/login", { email, password: PASSWORD })).status;

/** A credential as Keycloak exports it. */
const credential = (value: string, salt: string, data: object) => ({
  type: "password",
  secretData: JSON.stringify({ value, salt, additionalParameters: {} }),
  credentialData: JSON.stringify({ additionalParameters: {}, ...data }),
});

Deno.test("users and roles of a Keycloak realm come with passwords that still work", async () => {
  const admin = await service.actor({ permissions: RIGHTS });
  const [, , , , salt = "", hash = ""] = (await hashPassword(PASSWORD)).split("$");
  const numbers = { hashLength: ["32"], memory: ["8"], parallelism: ["1"] };
  const additionalParameters = { ...numbers, type: ["id"], version: ["1.3"] };
  const argon2 = credential(hash, salt, { hashIterations: 1, algorithm: "argon2", additionalParameters });
  const bytes = randomBytes(16);
  const derived = pbkdf2Sync(PASSWORD, bytes, 27_500, 64, "sha256").toString("base64");
  const pbkdf2 = credential(derived, bytes.toString("base64"), {
    hashIterations: 27_500,
    algorithm: "pbkdf2-sha256",
  });
  const own = ["default-roles-shop", "offline_access"];
  const path = await file("realm.json", {
    realm: "shop",
    roles: {
      realm: [{ name: "clerk", description: "Sells" }, { name: "admin" }, ...own.map((name) => ({ name }))],
      client: { till: [{ name: "open" }], account: [{ name: "view-profile" }] },
    },
    users: [
      {
        ...{ id: crypto.randomUUID(), username: "ana", email: "ana@kc.test", enabled: true },
        ...{ firstName: "Ana", lastName: "Sá", attributes: { city: ["Porto"] }, credentials: [argon2] },
        realmRoles: ["clerk", "admin", ...own],
        clientRoles: { till: ["open"], account: ["view-profile"] },
      },
      { id: crypto.randomUUID(), username: "rui@kc.test", enabled: false, credentials: [pbkdf2] },
      { id: crypto.randomUUID(), username: "no-mail", enabled: true },
      { id: crypto.randomUUID(), username: "service-account-till", serviceAccountClientId: "till" },
      null,
    ],
  });
  const [dry, written, repeated] = await importThrice(admin.token, ["keycloak", path]);
  const users = (counts: string) => new RegExp(`^users: ${counts}, 1 failed, 1 without a password`, "m");
  assert.match(dry.out, /^roles: 2 created, 1 unchanged$/m);
  assert.match(dry.out, users("2 created, 0 updated, 0 unchanged"), dry.err);
  assert.match(dry.out, /^dry run, nothing written/m);
  assert.equal(dry.code, 1);
  assert.match(dry.err, /^refused: service-account-till: a service account/m);
  assert.match(dry.err, /^refused: no-mail: email: /m);
  assert.match(dry.err, /^refused: user of \S+ 5: it has another form than expected/m);
  assert.match(dry.err, /^refused: role admin: a role of this name has permissions here/m);
  assert.match(written.out, users("2 created, 0 updated, 0 unchanged"), written.err);
  assert.match(repeated.out, /^roles: 0 created, 3 unchanged$/m);
  assert.match(repeated.out, users("0 created, 0 updated, 2 unchanged"), repeated.err);
  assert.equal(await signIn("ana@kc.test"), 200);
  const { sql } = service.steward.platform;
  const [ana] =
    await sql`select metadata, array(select r.name from user_tenant_roles h join roles r on r.id = h.role_id
    where h.user_id = u.id order by r.name) as roles from users u where email = 'ana@kc.test'`;
  assert.deepEqual({ ...ana }, { metadata: { city: ["Porto"] }, roles: ["clerk", "till: open"] });
  await sql`update users set is_active = true where email = 'rui@kc.test'`;
  assert.equal(await signIn("rui@kc.test"), 200);
  const left =
    await sql`select from files where tenant_id = ${admin.tenantId} and status <> 'Purged' and profile = 'document'`;
  assert.equal(left.length, 0, "no file with hashes stays");
});

Deno.test("users of Auth0 come with the hashes of its second export and with their roles", async () => {
  const admin = await service.actor({ permissions: RIGHTS.filter((right) => right !== "purge:files") });
  const id = "5dea9f9c82dd7c0e76e4ec93";
  const lines = (...rows: object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
  const users = await file(
    "users.json",
    lines(
      {
        ...{ user_id: `auth0|${id}`, email: "eva@a0.test", given_name: "Eva", family_name: "Ruiz" },
        user_metadata: { plan: "pro" },
      },
      { user_id: "google-oauth2|1", email: "gus@a0.test", name: "Gus", blocked: true },
    ),
  );
  const hashes = await file(
    "hashes.json",
    lines({
      ...{ _id: { $oid: id }, email: "eva@a0.test", passwordHash: hashSync(PASSWORD, 4), tenant: "shop" },
      ...{ email_verified: true, connection: "Username-Password-Authentication", _tmp_is_unique: true },
    }),
  );
  const roles = await file("roles.json", [{
    id: "rol_1",
    name: "editor",
    users: [{ user_id: `auth0|${id}` }],
  }]);
  const [dry, written, repeated] = await importThrice(admin.token, ["auth0", roles, users, hashes]);
  assert.match(dry.out, /^users: 2 created, .* 1 without a password that can be kept$/m, dry.err);
  assert.match(
    written.err,
    /^refused: the purge of file \S+, which has the hashes; purge it: 403 [^\n]*$/,
  );
  assert.match(repeated.out, /^users: 0 created, 0 updated, 2 unchanged, /m);
  assert.equal(await signIn("eva@a0.test"), 200);
  const env = { STEWARD_URL: service.url, STEWARD_TOKEN: admin.token ?? "" };
  const { out } = await runScriptProcess("import", ["auth0", users, "--write"], { env });
  assert.match(out, /^users: 0 created, 0 updated, 2 unchanged, /m, "without the roles nobody loses theirs");
  const { body } = await admin.get("/api/v1/roles?search=editor");
  assert.equal(body.items[0].userCount, 1);
});

/** A tenant that has declared these job types, and the tables of the source. */
async function jobSource(types: string[], ddl: string) {
  const admin = await service.actor({ permissions: ["manage:job-types"] });
  for (const name of types) assert.equal((await admin.put(`/api/v1/job-types/${name}`, {})).status, 201);
  const url = await createTestDatabase({ empty: true });
  const sql = connectPostgres(url, { max: 1 });
  await sql.unsafe(ddl);
  await sql.end();
  const jobs = async () => (await admin.get("/api/v1/jobs?pageSize=50")).body.items;
  return { admin, url, jobs };
}

Deno.test("waiting jobs of graphile-worker are enqueued once, with what is left of their attempts", async () => {
  const { admin, url, jobs } = await jobSource(
    ["send-mail"],
    `
    create schema graphile_worker;
    create table graphile_worker._private_tasks (id int primary key generated always as identity, identifier text not null unique);
    create table graphile_worker._private_jobs (id bigint primary key generated always as identity, job_queue_id int,
      task_id int not null, payload json default '{}' not null, priority smallint default 0 not null,
      run_at timestamptz default now() not null, attempts smallint default 0 not null,
      max_attempts smallint default 25 not null, last_error text, created_at timestamptz default now() not null,
      key text unique, locked_at timestamptz, locked_by text, revision int default 0 not null, flags jsonb);
    insert into graphile_worker._private_tasks (identifier) values ('sendMail'), ('unknown_task');
    insert into graphile_worker._private_jobs (task_id, payload, priority, run_at, attempts, max_attempts, locked_at) values
      (1, '{"to": 12345678901234567890}', -1, now() - interval '1 hour', 2, 5, null),
      (1, '{}', 0, now() + interval '1 day', 0, 25, null), (1, '{}', 0, now(), 1, 5, now()), (1, '{}', 0, now(), 5, 5, null),
      (2, '{}', 0, now(), 0, 25, null)`,
  );
  const [dry, written, repeated] = await importThrice(admin.token, ["graphile-worker", url]);
  assert.match(dry.out, /^jobs: 2 found$/m, dry.err);
  assert.match(dry.err, /^refused: job 3 \(sendMail\): it runs/m);
  assert.match(dry.err, /^refused: job 4 .*used up its attempts$/m);
  assert.match(dry.err, /^refused: 1 jobs of unknown-task: declare it first/m);
  assert.match(written.out, /^jobs: 2 created, 0 unchanged$/m, written.err);
  assert.match(repeated.out, /^jobs: 0 created, 2 unchanged$/m, repeated.err);
  const [later, due] = await jobs();
  assert.deepEqual([later.status, later.maxRetries], ["Scheduled", 24]);
  assert.deepEqual([due.status, due.priority, due.maxRetries], ["Enqueued", "High", 2]);
  const { body } = await admin.get(`/api/v1/jobs/${due.id}`);
  assert.equal(body.serializedArgs, '{"to": 12345678901234567890}');
});

Deno.test("waiting jobs of Hangfire are enqueued once, of both forms of its calls", async () => {
  const { admin, url, jobs } = await jobSource(
    ["shop.mailer.send"],
    `
    create schema hangfire;
    create table hangfire.job (id bigserial primary key, stateid bigint, statename text, invocationdata jsonb not null,
      arguments jsonb not null, createdat timestamptz not null default now(), expireat timestamptz);
    create table hangfire.set (id bigserial primary key, key text not null, score float8 not null, value text not null,
      expireat timestamptz, unique (key, value));
    insert into hangfire.job (statename, invocationdata, arguments) values
      ('Enqueued', '{"Type": "Shop.Mailer, Shop, Version=1.0.0.0", "Method": "Send", "ParameterTypes": "[\\"System.Int32\\"]", "Arguments": null}', '["42"]'),
      ('Scheduled', '{"t": "Shop.Mailer, Shop", "m": "Send", "p": ["System.String"], "a": ["\\"x\\""]}', '[]'),
      ('Processing', '{"t": "Shop.Mailer, Shop", "m": "Send"}', '[]'), ('Succeeded', '{"t": "Shop.Mailer", "m": "Send"}', '[]');
    insert into hangfire.set (key, score, value) values ('schedule', extract(epoch from now()) + 86400, '2')`,
  );
  const [dry, written, repeated] = await importThrice(admin.token, ["hangfire", url]);
  assert.match(dry.err, /^refused: job 3 \(Shop\.Mailer\.Send\): its state is Processing/m);
  assert.match(written.out, /^jobs: 2 created, 0 unchanged$/m, written.err);
  assert.match(repeated.out, /^jobs: 0 created, 2 unchanged$/m);
  const [later, due] = await jobs();
  assert.deepEqual([due.status, later.status], ["Enqueued", "Scheduled"]);
  const args = await Promise.all(
    [due, later].map(async ({ id }) => (await admin.get(`/api/v1/jobs/${id}`)).body.serializedArgs),
  );
  assert.deepEqual(args, ['{"arguments":[42]}', '{"arguments":["x"]}']);
});

Deno.test("texts of Novu's workflows become templates, a step each", async () => {
  const admin = await service.actor({ permissions: ["send:notifications"] });
  const email = {
    type: "email",
    contentType: "customHtml",
    subject: "Hi {{name}}",
    content: "<p>{{name}}</p>",
  };
  const path = await file("workflows.json", {
    data: [
      {
        name: "Welcome",
        triggers: [{ identifier: "welcome" }],
        steps: [{ template: email }, { template: { type: "sms", content: "Hi" } }],
      },
      {
        name: "Blocks",
        triggers: [{ identifier: "blocks" }],
        steps: [{ template: { type: "email", content: [{ type: "text" }] } }],
      },
      {
        ...{ name: "Bill", workflowId: "bill" },
        steps: [{ type: "delay" }, {
          type: "email",
          controls: { values: { subject: "Bill", body: "<b>{{payload.sum}}</b>" } },
        }],
      },
      {
        name: "Liquid",
        workflowId: "liquid",
        steps: [{ type: "sms", controls: { values: { body: "{{payload.name | upcase}}" } } }],
      },
    ],
  });
  const [dry, written, repeated] = await importThrice(admin.token, ["novu", path]);
  assert.match(dry.out, /^templates: 3 created, 0 unchanged$/m);
  assert.match(dry.err, /^refused: blocks: .*\nrefused: liquid-sms: /m);
  assert.match(written.out, /^templates: 3 created, 0 unchanged$/m, written.err);
  assert.match(repeated.out, /^templates: 0 created, 3 unchanged$/m);
  const { body } = await admin.get("/api/v1/notification-templates?search=bill");
  const bill = (await admin.get(`/api/v1/notification-templates/${body.items[0].id}`)).body;
  assert.deepEqual([bill.subjectTemplate, bill.htmlBodyTemplate], ["Bill", "<b>{{sum}}</b>"]);
});

Deno.test("each failure of an import has its exit code", async () => {
  const env = { STEWARD_URL: service.url, STEWARD_TOKEN: "sk_none" };
  const empty = await file("empty.json", { users: [] });
  const one = await file("one.json", { users: [{ id: "1", email: "a@b.test" }] });
  const expected: [number, string[], Record<string, string>][] = [
    [64, ["elsewhere", empty], env],
    [64, ["keycloak", empty], { ...env, STEWARD_TOKEN: "" }],
    [64, ["hangfire"], env],
    [66, ["keycloak", join(folder, "absent.json")], env],
    [1, ["keycloak", one], env],
    [69, ["keycloak", one], { ...env, STEWARD_URL: "http://127.0.0.1:1" }],
  ];
  for (const [code, args, env] of expected) {
    const result = await runScriptProcess("import", args, { env });
    assert.equal(result.code, code, `${args}: ${result.err}`);
  }
});
