import assert from "node:assert/strict";
import { join } from "node:path";
import { verifyPassword } from "../../infra/passwords.ts";
import { makeScriptFolder, runScriptProcess } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";

Deno.test("a folder has all data of one moment, with the users' hashes and without other secrets", async () => {
  const service = await setup();
  const { systemAdmin, steward: { platform: { sql } } } = service;
  const folder = await makeScriptFolder("steward-leave-");
  const out = join(folder, "out");
  const env = { DATABASE_URL: service.steward.platform.config.DATABASE_URL ?? "" };
  const leave = (to: string) => runScriptProcess("leave", [to], { env });
  try {
    const tenantId = await service.tenant({ name: "Northwind" });
    const admin = await service.actor({ role: "Admin", tenantId });
    const made = await admin.post("/api/v1/users", {
      ...{
        email: "zoe@example.test",
        firstName: 'Zoë "Z"\n',
        lastName: "Q",
        tenants: [{ tenantId, roleIds: [admin.roleId] }],
      },
      password: "correct horse battery",
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const key = await systemAdmin.post("/api/v1/api-keys", { name: "Robot", permissions: ["read:users"] });
    assert.equal(key.status, 201, JSON.stringify(key.body));
    const request = { url: "https://plain.example/", headers: { authorization: "hidden-word" } };
    const job = { jobTypeName: "steward.http-request", serializedArgs: JSON.stringify(request) };
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const enqueued = await systemAdmin.post("/api/v1/jobs", { ...job, scheduledAt: tomorrow });
    assert.equal(enqueued.status, 201, JSON.stringify(enqueued.body));
    await Deno.mkdir(out);
    await Deno.writeTextFile(join(out, "mine"), "");
    assert.equal((await leave(out)).code, 64, "a folder that is not empty");
    await Deno.remove(join(out, "mine"));
    const { code, out: printed, err } = await leave(out);
    assert.equal(code, 0, err);
    assert.match(printed, /^wrote \d+ rows to /);

    const names = Array.from(Deno.readDirSync(out), ({ name }) => name);
    const texts = new Map(names.map((name) => [name, Deno.readTextFileSync(join(out, name))]));
    const rows = (table: string) =>
      (texts.get(`${table}.jsonl`) ?? "").split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const zoe = rows("users").find(({ email }) => email === "zoe@example.test");
    assert.equal(zoe.first_name, 'Zoë "Z"');
    assert.ok(await verifyPassword(zoe.password_hash, "correct horse battery"));
    const [link] = rows("user_tenant_roles").filter(({ user_id }) => user_id === zoe.id);
    assert.equal(rows("roles").find(({ id }) => id === link.role_id).name, "Admin");
    assert.equal(rows("tenants").find(({ id }) => id === tenantId).name, "Northwind");
    assert.ok(rows("audit_log").some(({ target_id }) => target_id === zoe.id));
    assert.equal(rows("jobs").find(({ id }) => id === enqueued.body.id).serialized_args, null);
    for (const absent of ["sessions", "webhook_secrets", "job_counts"]) {
      assert.ok(!names.includes(`${absent}.jsonl`), absent);
    }
    const hashes = await sql<{ hash: string }[]>`select encode(hash, 'base64') as hash from api_keys`;
    const everything = [...texts.values()].join("\n");
    for (const secret of [key.body.key, hashes[0]?.hash ?? "", "hidden-word"]) {
      assert.ok(secret && !everything.includes(secret));
    }
    const readme = texts.get("README.md") ?? "";
    for (const name of names.filter((name) => name !== "README.md")) {
      assert.ok(readme.includes(`### ${name}\n`));
    }

    const down = { env: { DATABASE_URL: "postgres://nobody:x@127.0.0.1:1/none" } };
    assert.equal((await runScriptProcess("leave", [join(folder, "failed")], down)).code, 69);
    assert.deepEqual(
      Array.from(Deno.readDirSync(folder), ({ name }) => name),
      ["out"],
      "nothing half written",
    );
  } finally {
    await service.stop();
    await Deno.remove(folder, { recursive: true });
  }
});
