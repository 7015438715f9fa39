import assert from "node:assert/strict";
import { join } from "node:path";
import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";
import { connectObjectStore } from "../../infra/objectstore/objectstore.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { signInAdministrator, startServiceProcess } from "../support/service_process.ts";
import { startSystemPostgres, systemPostgresInstalled } from "../support/system_postgres.ts";
import { until } from "../support/until.ts";
import { makeScriptFolder, runScriptProcess } from "../support/run_script.ts";

const INVOICE = { number: "A-1", customer: "Kept", amount: 12.5, dueOn: "2026-01-31" };
const KEYS = { accessKey: "backup-key", secretKey: "backup-secret" };

async function upload(admin: HttpClient, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reserved = await admin.post("/api/v1/files", {
    profile: "document",
    fileName: "kept.txt",
    contentType: "text/plain",
    sizeBytes: bytes.length,
  });
  assert.equal(reserved.status, 201, JSON.stringify(reserved.body));
  const { fileId, uploadUrl, requiredHeaders } = reserved.body;
  const put = await fetch(uploadUrl, { method: "PUT", headers: requiredHeaders, body: bytes });
  await put.body?.cancel();
  assert.equal((await admin.post(`/api/v1/files/${fileId}/complete`)).status, 200);
  await until(async () => (await admin.get(`/api/v1/files/${fileId}`)).body.status === "Available");
  return fileId;
}

Deno.test({
  name: "a restore into an empty database and bucket brings back everything in the backup",
  ignore: !systemPostgresInstalled,
  async fn() {
    const folder = await makeScriptFolder("steward-test-");
    const postgres = await startSystemPostgres();
    const stores = await Promise.all(
      ["a", "b"].map((name) =>
        startEmbeddedObjectStore({ dir: join(folder, name), port: 0, region: "us-east-1", ...KEYS })
      ),
    );
    const [from, to] = await Promise.all(stores.map(async ({ endpoint }, n) => ({
      DATABASE_URL: await postgres.database(`backup_${n}`),
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY: KEYS.accessKey,
      S3_SECRET_KEY: KEYS.secretKey,
      DATA_DIR: join(folder, `data-${n}`),
      STEWARD_EXTENSIONS: new URL("../../scripts/example/mod.ts", import.meta.url).href,
      PATH: `${postgres.tools}:${Deno.env.get("PATH")}`,
    })));
    assert.ok(from && to);
    const kept = join(folder, "backup");
    const small = new TextEncoder().encode("a small text\n");
    const large = new Uint8Array(9 * 1024 * 1024).fill(97); // larger than one part, so the store's ETag has another format
    try {
      const service = await startServiceProcess(from);
      const admin = new HttpClient(service.url, await signInAdministrator(service.url));
      const ids = [await upload(admin, small), await upload(admin, large)];
      const { body: invoice } = await admin.post("/api/v1/invoices", INVOICE);
      const backup = await runScriptProcess("backup", [kept], { env: from });
      assert.equal(backup.code, 0, backup.err);
      assert.match(backup.out, /the database and 2 objects/);
      const again = await runScriptProcess("backup", [kept], { env: from });
      assert.equal(again.code, 0, again.err);
      await service.stop();

      const otherApplication = connectPostgres(from.DATABASE_URL, { max: 1 });
      await otherApplication.unsafe(`create role shop; create schema "the shop" authorization shop;
        create table "the shop".orders (id int); create role steward_only login;
        grant select on all tables in schema public to steward_only;
        grant select on all sequences in schema public to steward_only;
        grant usage on schema invoicing to steward_only;
        grant select on all tables in schema invoicing to steward_only`);
      await otherApplication.end();
      const leastPrivilegeUrl = from.DATABASE_URL.replace("//steward:", "//steward_only:");
      const withoutShop = await runScriptProcess("backup", ["--no-objects", join(folder, "without-shop")], {
        env: { ...from, DATABASE_URL: leastPrivilegeUrl },
      });
      assert.equal(withoutShop.code, 0, withoutShop.err);
      assert.match(withoutShop.out, /skipped schemas of other applications: the shop\n/);
      const { DATABASE_URL: _, ...development } = from;
      const embedded = await runScriptProcess("backup", [join(folder, "embedded")], { env: development });
      assert.equal(embedded.code, 69);
      assert.match(embedded.err, /^DATABASE_URL is missing\. In development, .* copy that folder\.$/);

      const refused = await runScriptProcess("restore", [kept], { env: from });
      assert.equal(refused.code, 64, refused.err);
      assert.match(refused.err, /expected an empty one/);
      assert.equal((await runScriptProcess("restore", [join(folder, "nowhere")], { env: to })).code, 66);

      const target = {
        endpoint: to.S3_ENDPOINT,
        publicEndpoint: to.S3_ENDPOINT,
        region: "us-east-1",
        bucket: "steward",
        ...KEYS,
        pathStyle: true,
      };
      await connectObjectStore(target).ensureBucket();
      const restored = await runScriptProcess("restore", [kept], { env: to });
      assert.equal(restored.code, 0, restored.err);
      assert.match(restored.out, /restored 2 objects/);
      assert.match(restored.out, /every file has its content/);

      const second = await startServiceProcess(to);
      const restoredAdmin = new HttpClient(second.url, await signInAdministrator(second.url));
      for (const [index, id] of ids.entries()) {
        const { body } = await restoredAdmin.get(`/api/v1/files/${id}/download-url`);
        const bytes = await (await fetch(body.url)).bytes();
        assert.deepEqual(bytes, index === 0 ? small : large);
      }
      const { body: restoredInvoice } = await restoredAdmin.get(`/api/v1/invoices/${invoice.id}`);
      assert.equal(restoredInvoice.number, INVOICE.number, "a table of an extension");
      await second.stop();
    } finally {
      await Promise.all([postgres.stop(), ...stores.map((store) => store.stop())]);
      await Deno.remove(folder, { recursive: true });
    }
  },
});
