import assert from "node:assert/strict";
import { ALL, aPdf, Uploading } from "../routes/files/uploading.ts";
import { runScript } from "../support/run_script.ts";
import { environmentOf, setupFile } from "../support/setup.ts";

const t = await setupFile();
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { config, sql, objects } = t.steward.platform;

const run = (script: string, args: string[], env: Record<string, string> = {}) =>
  runScript(script, args, { env: { ...environmentOf(t), ...env } });

Deno.test("registry and bucket are reconciled from the command line; a difference changes the exit code", async () => {
  const { id } = await files.uploadAndScan(actor, aPdf);
  await objects.write("files/stranger", new Blob(["x"]).stream(), { contentType: "text/plain" });
  const young = await run("reconcile-files", []);
  assert.equal(young.code, 0, young.err);
  assert.match(young.out, /^orphan +0$/m);
  const [row] = await sql<{ key: string }[]>`select final_key as key from files where id = ${id}`;
  await objects.delete(row?.key ?? "");
  const dry = await run("reconcile-files", []);
  assert.equal(dry.code, 1);
  assert.match(dry.out, new RegExp(`^missing +file ${id}$`, "m"));
  assert.equal(dry.err, "differences remain: missing");
  const json = await run("reconcile-files", ["--apply", "--json"]);
  assert.deepEqual([json.code, JSON.parse(json.out).missing, JSON.parse(json.out).apply], [1, 1, true]);
  for (const { out, err } of [young, dry, json]) {
    for (const secret of [row?.key ?? "", "stranger", config.S3_BUCKET]) {
      assert.ok(!`${out}${err}`.includes(secret));
    }
  }
});

Deno.test("a rescan is started and followed from the command line", async () => {
  await files.uploadAndScan(actor, { bytes: new TextEncoder().encode("again") });
  const before = JSON.parse((await run("rescan-files", ["status", "--json"])).out);
  assert.deepEqual([before.outdatedFiles, /^YARA/.test(before.engine)], [0, true]);
  const requested = await run("rescan-files", ["all"]);
  assert.equal(requested.code, 0, requested.err);
  assert.match(requested.out, /^outdatedFiles +[1-9]/m);
});

Deno.test("wrong usage and unreachable stores are explained", async () => {
  const cases: [string, string[], Record<string, string>, number, RegExp][] = [
    ["reconcile-files", ["--hours", "1"], {}, 64, /--hours/],
    ["reconcile-files", ["everything"], {}, 64, /unexpected argument "everything"/],
    ["reconcile-files", [], { S3_ENDPOINT: "" }, 64, /S3_ENDPOINT/],
    ["reconcile-files", [], { S3_ENDPOINT: "http://127.0.0.1:1" }, 69, /the bucket is not usable/],
    ["rescan-files", [], {}, 64, /a command is missing/],
    ["rescan-files", ["status", "all"], {}, 64, /unknown command "status all"/],
  ];
  for (const [script, args, env, code, message] of cases) {
    const ended = await run(script, args, env);
    assert.deepEqual([ended.code, message.test(ended.err)], [code, true], JSON.stringify(ended));
  }
});
