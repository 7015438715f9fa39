import assert from "node:assert/strict";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { type Upload, upload } from "../../../scripts/client/helpers.ts";
import { Transport } from "../../../scripts/client/transport.ts";
import { invalid } from "../../support/answers.ts";
import { noise } from "../../support/content.ts";
import { INSTANCES } from "../../support/in_one_instance.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { utf8 } from "../../support/samples.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { describeUploads, type Part } from "./parts_uploads.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({}, { inThisProcess: true });
await describeUploads("embedded", t);

const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { sql } = t;
const MIB = 1024 * 1024;
const good = { profile: "archive", fileName: "a.zip", contentType: "application/zip", sizeBytes: 100 * MIB };
const reserve = (change: Record<string, unknown>, headers = {}) =>
  actor.post("/api/v1/files", { ...good, ...change }, headers);

Deno.test("a number of parts that the storage does not accept is rejected, after the other errors of a reservation", async () => {
  invalid(await reserve({ parts: 21 }), "parts");
  const mistakes: [change: Record<string, unknown>, expected: string][] = [
    [{ isProduct: true }, "403 FORBIDDEN"],
    [{ profile: "x" }, "400 FILE_PROFILE_UNKNOWN"],
    [{ contentType: "a/b" }, "422 FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE"],
    [{ sizeBytes: 201 * MIB }, "422 FILE_TOO_LARGE_UNPROCESSABLE"],
  ];
  for (const [change, expected] of mistakes) await refused(expected, reserve({ parts: 500, ...change }));
});

Deno.test("without requested parts the reservation has no part URLs, and the confirmation needs no body", async () => {
  for (const parts of [undefined, null, false]) {
    const body = await accepted(reserve({ parts }), 201);
    const names = ["fileId", "requiredHeaders", "uploadExpiresAt", "uploadUrl"];
    assert.deepEqual(Object.keys(body).sort(), names);
  }
  for (const body of ['{"parts":7}', "{", "nonsense"]) {
    const { fileId } = await files.reserveAndPut(actor, { bytes: utf8("text") });
    const answer = await fetch(`${t.url}/api/v1/files/${fileId}/complete`, {
      method: "POST",
      headers: { authorization: `Bearer ${actor.token}` },
      body,
    });
    assert.equal(answer.status, 200, await answer.text());
  }
});

Deno.test("requests with an Idempotency-Key that wait for storage block no database connections, and store nothing if it does not answer", async () => {
  const { promise: noAnswer, reject: giveUp } = Promise.withResolvers<string>();
  let asked = 0;
  const putBack = t.replace((p) => p.objects, {
    startParts: () => {
      asked++;
      return noAnswer;
    },
  });
  const connections = INSTANCES * t.platform.config.DATABASE_POOL;
  const keys = Array.from({ length: connections + 2 }, () => crypto.randomUUID());
  const fileName = `${crypto.randomUUID()}.zip`;
  const reserveWith = (key: string) => reserve({ fileName, parts: true }, { "idempotency-key": key });
  try {
    const waiting = keys.map(reserveWith);
    await until(() => asked, (asked) => asked === keys.length);
    await accepted(actor.get("/api/v1/files"));
    giveUp(new ObjectStoreUnavailable("no answer"));
    await refused("503 FILE_STORAGE_UNAVAILABLE", ...waiting);
    assert.deepEqual([...await sql`select from files where file_name = ${fileName}`], []);
  } finally {
    giveUp(new ObjectStoreUnavailable("no answer"));
    putBack();
  }
  const [key = ""] = keys;
  const made = await accepted(reserveWith(key), 201); // a refusal leaves the key free
  const again = await reserveWith(key);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, made);
});

Deno.test("a repeat of a reservation whose answer was lost gets the same file while its upload URL is valid", async () => {
  for (const parts of [null, true]) {
    const key = { "idempotency-key": crypto.randomUUID() };
    const change = { profile: "document", contentType: "text/plain", sizeBytes: 4, parts };
    const first = await accepted(reserve(change, key), 201);
    const loseAnswer = (fileId: string) =>
      sql`update idempotency_keys set status = null, headers = null, body = null, claimed_until = now() - interval '1 ms'
        where strpos(body, ${fileId}) > 0`;
    await loseAnswer(first.fileId);
    const again = await accepted(reserve(change, key), 201);
    assert.equal(again.fileId, first.fileId);
    const [part = again] = again.parts ?? [];
    const sent = await fetch(part.uploadUrl, { method: "PUT", headers: part.requiredHeaders, body: "text" });
    const named = parts && { parts: [{ partNumber: 1, etag: sent.headers.get("etag") }] };
    await accepted(actor.post(`/api/v1/files/${first.fileId}/complete`, named));

    await loseAnswer(first.fileId);
    await sql`update files set upload_expires_at = now() - interval '1 ms' where id = ${first.fileId}`;
    assert.notEqual((await accepted(reserve(change, key), 201)).fileId, first.fileId);
  }
});

Deno.test("the client continues an upload that was paused, and sends no part twice", async () => {
  const bytes = noise(10 * MIB);
  const transport = new Transport({ baseUrl: t.url, token: actor.token ?? "" });
  const pause = new AbortController();
  let fileId = "";
  const seen: number[] = [];
  const file: Upload = {
    profile: "archive",
    fileName: "a.bin",
    contentType: "application/zip",
    content: bytes,
    parts: 2,
    onReserved: (id) => fileId = id,
    onProgress: (sent) => seen.push(sent),
  };
  const onProgress = (sent: number) => sent > 0 && pause.abort(new Error("paused"));
  await assert.rejects(upload(transport, { ...file, onProgress, signal: pause.signal }), /paused/);
  assert.equal((await actor.get(`/api/v1/files/${fileId}`)).body.status, "Pending");
  const confirmed = await upload<{ id: string }>(transport, { ...file, fileId });
  assert.equal(confirmed.id, fileId);
  assert.deepEqual([...new Set(seen)], [Math.ceil(bytes.length / 2), bytes.length]);
  const again = await upload<{ id: string }>(transport, { ...file, fileId });
  assert.equal(again.id, fileId, "nothing is left to send");
});

Deno.test("the id of an upload appears only in signed URLs", async () => {
  const logged = t.logs.length;
  const body = await accepted(reserve({ parts: 20 }), 201);
  const path = `/api/v1/files/${body.fileId}`;
  const [row] = await sql<{ uploadId: string }[]>`
    select upload_id from file_objects where file_id = ${body.fileId}`;
  const uploadId = row?.uploadId ?? "";
  assert.ok(uploadId.length > 20);
  for (const part of body.parts) assert.ok(part.uploadUrl.includes(`uploadId=${uploadId}`));
  const { parts, ...rest } = body;
  const answers = [
    await actor.post(`${path}/complete`, { parts: [{ partNumber: 1, etag: "x" }] }),
    await actor.post(`${path}/complete`, {
      parts: parts.map(({ partNumber }: Part) => ({ partNumber, etag: "x" })),
    }),
    await actor.get(path),
  ];
  assert.deepEqual(answers.map((answer) => answer.status), [400, 409, 200]);
  const audited = await sql`select * from audit_log where target_id = ${body.fileId}`;
  assert.ok(!JSON.stringify([rest, answers, t.logs.slice(logged), audited]).includes(uploadId));
});
