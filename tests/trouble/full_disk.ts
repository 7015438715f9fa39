import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { setup } from "../support/setup.ts";
import { canMountSmallDisk, mountSmallDisk } from "../support/small_disk.ts";

const name = "while the database's disk is full, writes are answered 503; they work once there is space";

Deno.test({
  name: canMountSmallDisk ? name : `${name} (skipped: only root may mount a small disk)`,
  ignore: !canMountSmallDisk,
  async fn() {
    const disk = await mountSmallDisk(64);
    const url = new URL(await createTestDatabase());
    const sql = connectPostgres(url.href, { max: 1 });
    const space = `small_${crypto.randomUUID().replaceAll("-", "")}`;
    const template = url.pathname.slice(1);
    await Deno.mkdir(`${disk.folder}/data`);
    await Deno.chmod(disk.folder, 0o755);
    await sql.unsafe(`create tablespace ${space} location '${disk.folder}/data'`);
    url.pathname = "/postgres";
    const root = connectPostgres(url.href, { max: 1 });
    await sql.end();
    await root.unsafe(`create database ${space} template ${template} tablespace ${space}`);
    url.pathname = `/${space}`;

    const t = await setup({ DATABASE_URL: url.href });
    const ready = async () => (await t.nobody.get("/readyz")).body.checks.postgresDisk;
    assert.equal(await ready(), "ok");
    await disk.fill();
    const write = () =>
      t.systemAdmin.post("/api/v1/jobs", {
        jobTypeName: "steward.echo",
        serializedArgs: JSON.stringify({ text: "x".repeat(5_000) }),
      });
    const accepted: string[] = [];
    let refusals = 0;
    while (refusals < 20) {
      const answers = await Promise.all(Array.from({ length: 10 }, write));
      for (const { status, body, headers } of answers) {
        if (status < 300) accepted.push(body.id);
        else {
          assert.deepEqual([status, body.code], [503, "DATABASE_UNAVAILABLE"]);
          assert.match(body.detail, /out of disk space/);
          assert.equal(headers.get("retry-after"), "10");
          refusals++;
        }
      }
      assert.ok(accepted.length < 5_000, "the disk is full");
    }
    assert.ok(t.logs.some((line) => line.includes("the database has run out of disk space")));
    while (await ready() !== "failed") await pause(100);
    assert.equal((await t.nobody.get("/readyz")).body.status, "degraded");
    assert.equal((await t.systemAdmin.get("/api/v1/tenants")).status, 200, "reads go on");

    await disk.clear();
    const { status, body } = await write();
    assert.ok(status < 300, JSON.stringify(body));
    accepted.push(body.id);
    for (const id of accepted) assert.equal(await t.settled(id), "Succeeded");
    while (await ready() !== "ok") await pause(100);
    await t.stop();
    await root.unsafe(`drop database ${space} with (force)`);
    await root.unsafe(`drop tablespace ${space}`);
    await root.end();
    await disk.unmount();
  },
});
