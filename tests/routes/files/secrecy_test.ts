import assert from "node:assert/strict";
import { collectExpired, expireReservations } from "../../../domain/files/sweeps.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { eicar, noise } from "../../support/content.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, aPdf, Uploading } from "./uploading.ts";

const t = await setupShared({}, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const p = t.steward.platform;
const { sql } = p;
const logged = t.logs.length;

Deno.test("after a full run no key, bucket or storage host is in any answer, log, audit row or job", async () => {
  const answers: unknown[] = [];
  const ask = async (call: Promise<{ status: number; headers: Headers; body: unknown }>) => {
    const { headers, body } = await call;
    const { uploadUrl: _, url: __, ...visible } = body as Record<string, unknown>;
    answers.push(visible, [...headers]);
  };
  const contents = [
    aPdf,
    { bytes: eicar() },
    { bytes: noise(500), profile: "image", contentType: "image/png", fileName: "secret-name.png" },
  ];
  for (const content of contents) {
    const { id } = await files.uploadAndScan(actor, content);
    const path = `/api/v1/files/${id}`;
    await ask(actor.get(path));
    await ask(actor.post(`${path}/complete`));
    await ask(actor.get(`${path}/download-url`));
    await ask(actor.get(`${path}/scan-attempts`));
    await ask(actor.post(`${path}/references`, { scope: "a", ownerId: "b" }));
    await ask(actor.put(`${path}/retention`, { legalHold: true }));
    await ask(actor.post(`${path}/purge`, { reason: "x" }));
  }
  await ask(actor.get("/api/v1/files/scanner-status"));

  // Errors of the storage must not contain its address either.
  const broken = ["head", "copy", "read", "delete"] as const;
  for (const name of broken) {
    const { fileId } = await files.reserveAndPut(actor, aPdf);
    const dead = connectObjectStore({
      endpoint: "http://storage.invalid:9",
      publicEndpoint: "http://storage.invalid:9",
      region: "r",
      bucket: "the-bucket",
      accessKey: "a",
      secretKey: "b",
      pathStyle: true,
    });
    const putBack = t.replace((p) => p.objects, { [name]: dead[name] });
    await ask(actor.post(`/api/v1/files/${fileId}/complete`));
    const [job] = await sql<{ id: string }[]>`
      select id from jobs where serialized_args like ${`%${fileId}%`}`;
    if (job) await t.settled(job.id, ["Succeeded", "Scheduled"]);
    await ask(actor.get(`/api/v1/files/${fileId}/scan-attempts`));
    putBack();
  }
  await sql`update files set upload_expires_at = now(), retain_until = null, completed_at = now() - interval '100 days',
    legal_hold = false where tenant_id = ${tenantId}`;
  await expireReservations(p);
  await collectExpired(p);

  const visible = JSON.stringify([
    answers,
    t.logs.slice(logged),
    await sql`select * from audit_log where tenant_id = ${tenantId}`,
    await sql`select serialized_args, last_error, wait_reason from jobs where tenant_id = ${tenantId}`,
    await sql`select e.error_message, e.output from job_executions e join jobs j on j.id = e.job_id
      where j.tenant_id = ${tenantId}`,
  ]);
  const keys = await sql<{ key: string }[]>`
    select key from files, unnest(array[staging_key, final_key]) key where tenant_id = ${tenantId} and key is not null`;
  assert.ok(keys.length >= 8);
  for (const { key } of keys) {
    assert.ok(!visible.includes(key.split("/")[1] ?? key), "an object key is in an answer or log");
    assert.match(key, /^(staging|files)\/[\w-]{32}$/);
  }
  const { host } = new URL((await files.reserve(actor, aPdf)).uploadUrl);
  assert.ok(!visible.includes(host), "the storage host is in an answer or log");
  for (const word of ["storage.invalid", "the-bucket", "X-Amz-"]) assert.ok(!visible.includes(word), word);
  assert.ok(answers.length > 30);
});

Deno.test("a signed URL contains neither name nor tenant nor id of the file", async () => {
  const content = { ...aPdf, fileName: "secret-name.pdf" };
  const { uploadUrl, fileId } = await files.reserve(actor, content);
  const { body } = await actor.get(
    `/api/v1/files/${(await files.uploadAndScan(actor, content)).id}/download-url`,
  );
  const path = new URL(body.url).pathname;
  for (const word of ["secret-name", tenantId, fileId]) {
    assert.ok(!uploadUrl.includes(word) && !path.includes(word), word);
  }
});
