// Scripts in processes with the permissions of their tasks. Other tests run them in their own process, which has all.
import assert from "node:assert/strict";
import { join } from "node:path";
import { writeEmbeddedDatabaseUrl } from "../../infra/embedded/database_address.ts";
import { pluck } from "../support/answers.ts";
import { makeScriptFolder, runScriptProcess } from "../support/run_script.ts";
import { environmentOf, setup } from "../support/setup.ts";

const t = await setup();
const folder = await makeScriptFolder("steward-scripts-");
Deno.test.afterAll(async () => {
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});
const { config } = t.steward.platform;
const env = environmentOf(t);

const file = join(folder, "permissions.csv");
await Deno.writeTextFile(file, "code,category\nread:y,X\n");
await writeEmbeddedDatabaseUrl(folder, config.DATABASE_URL ?? "");
const isSystem = ["--permission", "admin:system", "--tenant", t.platformTenantId];
const [email, password] = ["operator@example.test", "a fine password"];

/** Each with a part of what it prints. */
const RUNS: [task: string, args: string[], printed: RegExp, own?: Record<string, string>][] = [
  ["create-admin", ["--email", email, "--password-stdin"], /./],
  ["access", ["--user", t.systemAdmin.email, ...isSystem], /from admin:system of role/],
  ["reconcile-files", [], /^orphan +0$/m],
  ["rescan-files", ["status"], /^outdatedFiles +0/m],
  ["import-permissions", [file], /1 created/],
  ["jobs", ["enqueue", "steward.echo", '{"a":1}'], /./],
  ["jobs", ["stats"], /^totalJobs/m, { DATABASE_URL: "", DATA_DIR: folder }],
  ["dead-letters", ["groups", "--json"], /^\[\]$/],
];

Deno.test("the permissions of each task are enough for its script", async () => {
  for (const [task, args, printed, own = {}] of RUNS) {
    const { code, out, err } = await runScriptProcess(task, args, {
      env: { ...env, ...own },
      stdin: `${password}\n`,
    });
    assert.equal(code, 0, `${task}: ${err}`);
    assert.match(out, printed, task);
  }
  assert.equal((await t.nobody.post("/api/v1/auth/login", { email, password })).status, 200);
});

Deno.test("the first keys of an installation are printed, one of each kind; the key of the OpenID provider is added once", async () => {
  const rotate = (step: string, TOKEN_KEYS: string) =>
    runScriptProcess("rotate-keys", [step], { env: { TOKEN_KEYS, DATA_DIR: "" } });
  const { code, out, err } = await rotate("create", "");
  assert.deepEqual([code, err], [0, ""]);
  const [own, rsa] = JSON.parse(out);
  assert.deepEqual([own.kty, rsa.kty], ["OKP", "RSA"]);
  const added = JSON.parse((await rotate("add-rs256", JSON.stringify([own]))).out);
  assert.deepEqual([added.length, added[0].kid, added[1].kty], [2, own.kid, "RSA"]);
  assert.equal(Math.round(added[1].n.length * 6 / 64) * 64, 3072);
  const announced = JSON.parse((await rotate("announce", out)).out);
  assert.deepEqual(pluck(announced, "kty"), ["OKP", "OKP", "RSA", "RSA"]);
  assert.deepEqual([announced[0].kid, announced[2].kid], [own.kid, rsa.kid]);
});
