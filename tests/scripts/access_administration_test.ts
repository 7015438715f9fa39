import assert from "node:assert/strict";
import { runScript } from "../support/run_script.ts";
import { setupShared } from "../support/setup.ts";

const t = await setupShared();
const { sql, config } = t.steward.platform;

const run = (script: string, args: string[], env: Record<string, string> = {}) =>
  runScript(script, args, { env: { DATABASE_URL: config.DATABASE_URL ?? "", ...env } });

Deno.test("a created administrator signs in with admin:system; afterwards the email is in use", async () => {
  for (
    const [email, password, code, message] of [
      ["operator@example.test", "a fine password", 0, /^/],
      ["operator@example.test", "a fine password", 1, /USER_ALREADY_EXISTS/],
      ["weak@example.test", "weak", 1, /12 to 128/],
      ["nobody", "a fine password", 64, /--email/],
    ] as const
  ) {
    const ended = await run("create-admin", ["--email", email], { ADMIN_PASSWORD: password });
    assert.equal(ended.code, code, ended.err);
    assert.match(ended.err, message);
    assert.doesNotMatch(ended.out + ended.err, /fine password/);
  }
  const credentials = { email: "operator@example.test", password: "a fine password" };
  const { status, body } = await t.nobody.post("/api/v1/auth/login", credentials);
  assert.deepEqual([status, body.permissions.includes("admin:system")], [200, true]);
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
  const yes = await ask("read:users", "--tenant", tenant);
  assert.equal(yes.code, 0, yes.err);
  assert.match(yes.out, /from read:users of role/);
  const no = await ask("delete:users", "--tenant", subject.tenantId ?? "");
  assert.equal(no.code, 1);
  assert.match(no.out, /NO .*none has delete:users/);
  const json = await ask("delete:users", "--tenant", tenant, "--json");
  assert.deepEqual([json.code, JSON.parse(json.out).isAllowed], [1, false]);
  assert.equal((await ask("read:users")).code, 1, "without a tenant");
  assert.equal((await ask("read:users", "--tenant", "Nowhere")).code, 66);
});
