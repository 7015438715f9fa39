import assert from "node:assert/strict";
import {
  copyFileTo,
  openFileContent,
  readFileState,
  signFileDownload,
  signTenantDownload,
  storeServiceFile,
} from "../../../domain/files/service_files.ts";
import { deliveryPath } from "../../../domain/files/objects.ts";
import { expireReservations } from "../../../domain/files/sweeps.ts";
import { ALL, Uploading } from "../../routes/files/uploading.ts";
import { eicar, streamOf } from "../../support/content.ts";
import { refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { utf8 } from "../../support/samples.ts";

const t = await setupShared();
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const p = t.platform;
const { sql, objects } = p;
const csv = utf8("name,age\nAda,36\n");
const service = (ownerId: string) => ({
  tenantId: actor.tenantId,
  profile: "report",
  fileName: "users.csv",
  contentType: "text/csv",
  createdBy: actor.userId,
  owner: { scope: "reports", id: ownerId },
});
const store = (ownerId: string, bytes: Uint8Array = csv) =>
  storeServiceFile(p, service(ownerId), streamOf(bytes));

Deno.test("a file that is not Available is neither read, signed nor delivered", async () => {
  const { fileId } = await store("run-2", eicar());
  const attempts = [
    () => openFileContent(p, fileId),
    () => signFileDownload(p, fileId),
    () => copyFileTo(p, fileId, "a"),
  ];
  assert.equal((await files.scanned(actor, fileId)).status, "Infected");
  for (const attempt of attempts) await assert.rejects(attempt(), { code: "FILE_INFECTED_CONFLICT" });
  const none = crypto.randomUUID();
  assert.equal(await readFileState(sql, none), null);
  await assert.rejects(signFileDownload(p, none), { code: "FILE_NOT_FOUND" });
  await assert.rejects(signTenantDownload(p, none, fileId), { code: "FILE_NOT_FOUND" });
});

Deno.test("callers cannot confirm a file that the service is writing", async () => {
  const write: typeof objects.write = async (...content) => {
    const written = await objects.write(...content);
    const [file] = await sql`select id from files where staging_key = ${content[0]}`;
    await refused("409 FILE_NOT_UPLOADED_CONFLICT", actor.post(`/api/v1/files/${file?.id}/complete`));
    return written;
  };
  const writing = { ...p, objects: { ...objects, write } };
  for (const bytes of [csv, new Uint8Array()]) {
    const { fileId } = await storeServiceFile(writing, service("run-1"), streamOf(bytes));
    assert.equal((await readFileState(sql, fileId))?.sizeBytes, bytes.length);
  }
});

Deno.test("an undeclared profile or type is refused; a stream that breaks or is too long leaves a Pending file that the sweep collects", async () => {
  const broken = new ReadableStream<Uint8Array>({ pull: (c) => c.error(new Error("the query failed")) });
  await assert.rejects(storeServiceFile(p, service("run-3"), broken), /the query failed/);
  const FILE_PROFILES = JSON.stringify({ report: { maxBytes: 1_000_000 } });
  const tooLarge = new Uint8Array(1_000_001).fill(65);
  const limited = { ...p, config: { ...p.config, FILE_PROFILES } };
  await assert.rejects(storeServiceFile(limited, service("run-4"), streamOf(tooLarge)), {
    code: "FILE_TOO_LARGE_UNPROCESSABLE",
  });
  const isRefused = async (change: Partial<ReturnType<typeof service>>, code: string) =>
    await assert.rejects(storeServiceFile(p, { ...service("run-4"), ...change }, streamOf(csv)), { code });
  await isRefused({ profile: "nothing" }, "FILE_PROFILE_UNKNOWN");
  await isRefused({ contentType: "image/png" }, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
  const pending = await sql<{ id: string; stagingKey: string }[]>`
    select id, staging_key from files where status = 'Pending' and tenant_id = ${actor.tenantId}`;
  assert.equal(pending.length, 2);
  const soon = { ...p, clock: { now: () => new Date(Date.now() + 7 * 60 * 60_000) } };
  assert.ok(await expireReservations(soon) >= 2);
  for (const { stagingKey } of pending) assert.equal(await objects.head(stagingKey), null);
  assert.equal((await sql`select from file_references where owner_id in ('run-3', 'run-4')`).length, 0);
});

Deno.test("a delivery path with an unusual part is rejected, ordinary names stay unchanged", () => {
  const bad = String.raw`/a a/ a//b ../a a/../b . a/./b a\b a?b end.`.split(" ");
  for (const path of [...bad, "", "a\nb", "a\u202eb", "x".repeat(513)]) {
    assert.throws(() => deliveryPath(path), { code: "VALIDATION_ERROR" });
  }
  for (const path of ["a", "a/b.csv", "Relatório 2026 (final).pdf", "_x/y-1,2=3+4@5.csv"]) {
    assert.equal(deliveryPath(path), path);
  }
  assert.equal(deliveryPath("A\u0327c/o\u0303.csv"), "A\u0327c/\u00f5.csv");
});
