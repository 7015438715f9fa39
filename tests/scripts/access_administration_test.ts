import assert from "node:assert/strict";
import { runScript } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql, config } = t.steward.platform;

/** Runs a script with only the permissions that its task has. */
const run = (script: string, args: string[], o: { env?: Record<string, string>; stdin?: string } = {}) =>
  runScript(script, args, {
    permissions: [
      "--allow-env",
      "--allow-net",
      "--allow-read",
      ...script === "create-admin" ? ["--allow-ffi"] : [],
    ],
    env: { DATABASE_URL: config.DATABASE_URL ?? "", ...o.env },
    stdin: o.stdin,
  });

Deno.test("both scripts show their usage, and reject unknown arguments", async () => {
  const complete: Record<string, string[]> = {
    access: ["--user", "a@example.test", "--permission", "read:users"],
    "create-admin": ["--email", "a@example.test", "--existing"],
  };
  for (const [script, args] of Object.entries(complete)) {
    const [help, unknown, noUrl] = await Promise.all([
      run(script, ["--help"]),
      run(script, ["--nonsense"]),
      run(script, args, { env: { DATABASE_URL: "" } }),
    ]);
    assert.equal(help.code, 0);
    assert.match(help.out, /^Usage: .*Exit code 0/s);
    assert.equal(unknown.code, 64);
    assert.match(unknown.err, /nonsense.*Usage/s);
    assert.equal(noUrl.code, 64);
    assert.match(noUrl.err, /DATABASE_URL is missing/);
  }
});

Deno.test("a created administrator signs in with admin:system; afterwards the email is in use", async () => {
  const email = "operator@example.test";
  const made = await run("create-admin", ["--email", email, "--password-stdin"], {
    stdin: "a fine password\n",
  });
  assert.equal(made.code, 0, made.err);
  const signedIn = await t.nobody.post("/api/v1/auth/login", { email, password: "a fine password" });
  assert.equal(signedIn.status, 200);
  assert.ok(signedIn.body.permissions.includes("admin:system"));
  const [again, weak, bad] = await Promise.all([
    run("create-admin", ["--email", email], { env: { ADMIN_PASSWORD: "a fine password" } }),
    run("create-admin", ["--email", "weak@example.test"], { env: { ADMIN_PASSWORD: "weak" } }),
    run("create-admin", ["--email", "nobody"], { env: { ADMIN_PASSWORD: "a fine password" } }),
  ]);
  assert.deepEqual([again.code, weak.code, bad.code], [1, 1, 64]);
  assert.match(again.err, /USER_ALREADY_EXISTS/);
  assert.match(weak.err, /12 to 128/);
  assert.ok(![again, weak, bad].some(({ out, err }) => /fine password/.test(out + err)));
});

Deno.test("--existing adds the roles to those of a user", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  await sql`update users set is_active = false where id = ${subject.userId}`;
  const promoted = await run("create-admin", ["--email", subject.email.toUpperCase(), "--existing"]);
  assert.equal(promoted.code, 0, promoted.err);
  const { body } = await t.systemAdmin.get(`/api/v1/admin/users/${subject.userId}`);
  assert.equal(body.isActive, true);
  assert.deepEqual(
    body.tenants.map((link: { tenantId: string; roleIds: string[] }) => [link.tenantId, link.roleIds.length]),
    [
      [subject.tenantId, 1],
      [t.platformTenantId, 2],
    ],
  );
  const unknown = await run("create-admin", ["--email", "unknown@example.test", "--existing"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /USER_NOT_FOUND/);
});

Deno.test("an access decision is explained, and the exit code is the decision", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const tenant = `Tenant ${subject.tenantId}`;
  const ask = (permission: string, ...more: string[]) =>
    run("access", ["--user", subject.email, "--permission", permission, ...more]);
  const [yes, no, global, json, unknown] = await Promise.all([
    ask("read:users", "--tenant", tenant),
    ask("delete:users", "--tenant", subject.tenantId ?? ""),
    ask("read:users"),
    ask("read:users", "--tenant", tenant, "--json"),
    ask("read:users", "--tenant", "Nowhere"),
  ]);
  assert.deepEqual([yes.code, no.code, global.code, json.code, unknown.code], [0, 1, 1, 0, 66]);
  assert.match(yes.out, /from read:users of role/);
  assert.match(no.out, /NO .*none has delete:users/);
  assert.equal(JSON.parse(json.out).isAllowed, true);
});
