import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import { expireReservations } from "../../../domain/files/sweeps.ts";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { noise } from "../../support/content.ts";
import { INSTANCES } from "../../support/in_one_instance.ts";
import { utf8, zip } from "../../support/samples.ts";
import { setup, setupShared } from "../../support/setup.ts";
import { canRunSwift, startSwift } from "../../support/swift.ts";
import { ALL, Uploading } from "./uploading.ts";

const swift = canRunSwift ? await startSwift() : null;
Deno.test.afterAll(async () => await swift?.stop());
const bucket = await swift?.bucket();
const onSwift = {
  S3_ENDPOINT: bucket?.endpoint ?? "",
  S3_PUBLIC_ENDPOINT: bucket?.publicEndpoint ?? "",
  S3_REGION: bucket?.region ?? "",
  S3_BUCKET: bucket?.bucket ?? "",
  S3_ACCESS_KEY: bucket?.accessKey ?? "",
  S3_SECRET_KEY: bucket?.secretKey ?? "",
};

const MIB = 1024 * 1024;
const big = zip([["noise.bin", noise(10 * MIB)]]);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Part {
  partNumber: number;
  sizeBytes: number;
  uploadUrl: string;
  requiredHeaders: Record<string, string>;
}
interface PartReservation {
  fileId: string;
  uploadUrl: string;
  uploadExpiresAt: string;
  requiredHeaders: Record<string, string>;
  parts: Part[];
}

async function send(part: Part | undefined, bytes: Uint8Array): Promise<{ status: number; etag: string }> {
  const response = await fetch(part?.uploadUrl ?? "", {
    method: "PUT",
    headers: part?.requiredHeaders ?? {},
    body: new Uint8Array(bytes),
  });
  await response.body?.cancel();
  return { status: response.status, etag: response.headers.get("etag") ?? "" };
}

await describeUploads("embedded", {});
if (swift) await describeUploads("Swift", onSwift);
else Deno.test({ name: "Swift: uploads by parts (ignored: not installed)", ignore: true, fn() {} });

async function describeUploads(store: string, env: Record<string, string>): Promise<void> {
  const t = await setup(env, { inThisProcess: true });
  Deno.test.afterAll(() => t.stop());
  const files = new Uploading(t);
  const actor = await t.actor({ permissions: ALL });
  const p = t.steward.platform;
  const { sql, objects } = p;
  const test = (sentence: string, run: () => Promise<void>) => Deno.test(`${store}: ${sentence}`, run);
  const complete = (fileId: string, body?: unknown) => actor.post(`/api/v1/files/${fileId}/complete`, body);

  async function reserve(parts: unknown, bytes = big): Promise<PartReservation> {
    const { status, body } = await actor.post("/api/v1/files", {
      profile: "archive",
      fileName: "big.zip",
      contentType: "application/zip",
      sizeBytes: bytes.length,
      parts,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }
  /** Uploads every part, the last one first, and returns the body of the confirmation. */
  async function sendAll({ parts }: PartReservation, bytes = big) {
    const sent = [];
    for (const part of parts.toReversed()) {
      const start = parts.slice(0, part.partNumber - 1).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const { status, etag } = await send(part, bytes.subarray(start, start + part.sizeBytes));
      assert.equal(status, 200);
      sent.push({ partNumber: part.partNumber, etag });
    }
    return sent;
  }
  async function uploadOf(fileId: string): Promise<{ key: string; uploadId: string }> {
    const [row] = await sql<{ key: string; uploadId: string }[]>`
      select key, upload_id from file_objects where file_id = ${fileId} and upload_id is not null`;
    assert.ok(row);
    return row;
  }

  test("a file is uploaded in parts, joined, scanned, and downloaded unchanged", async () => {
    const reserved = await reserve(true, big);
    assert.deepEqual(reserved.parts.map(({ sizeBytes }) => sizeBytes), [big.length], "one part is enough");
    const reservation = await reserve(2);
    const half = Math.ceil(big.length / 2);
    assert.deepEqual(
      reservation.parts.map(({ partNumber, sizeBytes }) => [partNumber, sizeBytes]),
      [[1, half], [2, big.length - half]],
    );
    assert.deepEqual(reservation.parts[0]?.requiredHeaders, { "Content-Length": String(half) });
    const minutes = (Date.parse(reservation.uploadExpiresAt) - Date.now()) / 60_000;
    assert.ok(minutes > 15 && minutes < 16, "a little more time than for a whole upload");

    const parts = await sendAll(reservation);
    const completed = await complete(reservation.fileId, { parts });
    assert.deepEqual([completed.status, completed.body.status], [200, "Scanning"], JSON.stringify(completed));
    const record = await files.scanned(actor, reservation.fileId);
    assert.deepEqual([record.status, record.sha256], ["Available", sha256(big)]);
    const { body } = await actor.get(`/api/v1/files/${reservation.fileId}/download-url`);
    assert.equal(sha256(await (await fetch(body.url)).bytes()), sha256(big));
    assert.equal((await complete(reservation.fileId, { parts })).body.status, "Available");
    assert.equal((await complete(reservation.fileId)).body.status, "Available");

    // No part URL, used again, changes what anyone can read.
    await send(reservation.parts[1], noise(big.length - half, 7));
    assert.equal(sha256(await (await fetch(body.url)).bytes()), sha256(big));
    assert.equal((await complete(reservation.fileId, { parts })).body.sha256, sha256(big));
    const { key } = await uploadOf(reservation.fileId);
    const day = { ...p, clock: { now: () => new Date(Date.now() + 86_400_000) } };
    await deleteDueObjects(day);
    assert.equal(await objects.head(key), null);
    assert.equal((await sql`select from file_objects where key = ${key}`).length, 0);
  });

  test("a confirmation must name every stored part once; after a rejection it can be sent again", async () => {
    const reservation = await reserve(2);
    const { fileId } = reservation;
    const refused = async (parts: unknown, status: number, code: string) => {
      const answer = await complete(fileId, { parts });
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
      return answer.body.errors;
    };
    const absent = "0".repeat(32);
    const [none, some] = [{ partNumber: 1, etag: absent }, { partNumber: 2, etag: absent }];
    assert.deepEqual(await refused([none, some], 409, "FILE_NOT_UPLOADED_CONFLICT"), {
      "part 1": ["not uploaded"],
      "part 2": ["not uploaded"],
    });
    const [two, one] = await sendAll(reservation);
    assert.ok(one && two);
    const invalid = "VALIDATION_ERROR";
    assert.deepEqual(await refused([one], 400, invalid), { parts: ["expected all 2 parts; missing: 2"] });
    assert.deepEqual(Object.keys(await refused([one, one, two], 400, invalid)), ["parts.1.partNumber"]);
    assert.deepEqual(Object.keys(await refused([one, one], 400, invalid)).sort(), [
      "parts",
      "parts.1.partNumber",
    ]);
    await refused([one, two, { partNumber: 3, etag: absent }], 400, invalid);
    await refused([], 400, invalid);
    await refused([one, { partNumber: 2 }], 400, invalid);
    await refused([one, { partNumber: 2, etag: "" }], 400, invalid);
    await refused([one, { partNumber: 2, etag: 'a"b' }], 400, invalid);
    await refused([one, { partNumber: "2", etag: two.etag }], 400, invalid);
    await refused("all", 400, invalid);
    assert.deepEqual(await refused([one, some], 409, "FILE_NOT_UPLOADED_CONFLICT"), {
      "part 2": ["storage has another ETag for this part"],
    });
    await refused([one, { partNumber: 2, etag: "<x>&" }], 409, "FILE_NOT_UPLOADED_CONFLICT");
    const withoutBody = await complete(fileId);
    assert.deepEqual([withoutBody.status, withoutBody.body.code], [409, "FILE_NOT_UPLOADED_CONFLICT"]);
    assert.match(withoutBody.body.detail, /parts/);
    assert.equal((await complete(fileId, { parts: [two, one] })).status, 200);
    assert.equal((await files.scanned(actor, fileId)).status, "Available");
  });

  test("ten simultaneous confirmations join once and start one scan", async () => {
    const reservation = await reserve(2);
    const parts = await sendAll(reservation);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => complete(reservation.fileId, { parts })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]), JSON.stringify(answers));
    const jobs = await sql`select from jobs where serialized_args like ${`%${reservation.fileId}%`}`;
    assert.equal(jobs.length, 1);
    assert.equal((await files.scanned(actor, reservation.fileId)).sha256, sha256(big));
  });

  test("a confirmation interrupted after the parts were joined can be repeated", async () => {
    const reservation = await reserve(2);
    const parts = await sendAll(reservation);
    const { joinParts } = objects;
    const putBack = t.replace((p) => p.objects, {
      joinParts: async (...args) => {
        await joinParts(...args);
        throw new ObjectStoreUnavailable("the answer was lost");
      },
    });
    const lost = await complete(reservation.fileId, { parts }).finally(putBack);
    assert.deepEqual([lost.status, lost.body.code], [503, "FILE_STORAGE_UNAVAILABLE"]);
    assert.equal((await actor.get(`/api/v1/files/${reservation.fileId}`)).body.status, "Pending");
    assert.equal((await complete(reservation.fileId, { parts })).status, 200);
    assert.equal((await files.scanned(actor, reservation.fileId)).sha256, sha256(big));

    const other = await reserve(2);
    await sendAll(other);
    const { key, uploadId } = await uploadOf(other.fileId);
    const etags = (await objects.listParts(key, uploadId)).map(({ etag }) => etag);
    assert.equal(await objects.joinParts(key, { uploadId, etags }), "joined");
    assert.equal((await complete(other.fileId)).status, 200, "no parts need to be named after the join");
    assert.equal((await files.scanned(actor, other.fileId)).sha256, sha256(big));
  });

  test("a reservation with parts can also be uploaded whole; its parts are deleted with the rest", async () => {
    const reservation = await reserve(2);
    await send(reservation.parts[0], big.subarray(0, reservation.parts[0]?.sizeBytes));
    assert.equal(await files.put(reservation, big), 200);
    assert.equal((await complete(reservation.fileId)).status, 200);
    assert.equal((await files.scanned(actor, reservation.fileId)).status, "Available");
    const { key, uploadId } = await uploadOf(reservation.fileId);
    assert.deepEqual(await objects.listParts(key, uploadId), []);
  });

  test("an expired upload is rejected, and the sweep deletes its parts", async () => {
    const reservation = await reserve(2);
    const { fileId } = reservation;
    const parts = await sendAll(reservation);
    const { key, uploadId } = await uploadOf(fileId);
    assert.equal((await objects.listParts(key, uploadId)).length, 2);
    await sql`update files set upload_expires_at = now() - interval '1 second' where id = ${fileId}`;
    const expired = await complete(fileId, { parts });
    assert.deepEqual([expired.status, expired.body.code], [409, "FILE_UPLOAD_EXPIRED_CONFLICT"]);
    assert.equal(await objects.head(key), null, "nothing was joined");
    await expireReservations(p);
    assert.deepEqual(await objects.listParts(key, uploadId), []);
    assert.equal(
      (await send(reservation.parts[0], big.subarray(0, reservation.parts[0]?.sizeBytes))).status,
      404,
    );
    const swept = await complete(fileId, { parts });
    assert.deepEqual([swept.status, swept.body.code], [409, "FILE_UPLOAD_EXPIRED_CONFLICT"]);
  });

  test("parts with another total size are discarded and leave a tombstone", async () => {
    const reservation = await reserve(2);
    const [two, one] = await sendAll(reservation);
    const { key, uploadId } = await uploadOf(reservation.fileId);
    const signed = objects.signPart(key, {
      uploadId,
      partNumber: 2,
      sizeBytes: 9,
      expiresInSeconds: 60,
    });
    const { etag } = await send(
      { ...signed, uploadUrl: signed.url, partNumber: 2, sizeBytes: 9 },
      utf8("too short"),
    );
    assert.notEqual(etag, two?.etag);
    const answer = await complete(reservation.fileId, { parts: [one, { partNumber: 2, etag }] });
    assert.deepEqual([answer.status, answer.body.code], [422, "FILE_SIZE_MISMATCH_UNPROCESSABLE"]);
    assert.equal(await objects.head(key), null);
    assert.equal(
      (await actor.get(`/api/v1/files/${reservation.fileId}`)).body.purgeReason,
      "job:size-mismatch",
    );
  });
}

const t = await setupShared({}, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { sql } = t.steward.platform;
const good = { profile: "archive", fileName: "a.zip", contentType: "application/zip", sizeBytes: 100 * MIB };

for (const parts of [0, -1, 1.5, 1001, "2", "true", {}, [], 21, 1e9]) {
  Deno.test(`a reservation of 100 MiB with parts ${JSON.stringify(parts)} is rejected`, async () => {
    const { status, body } = await actor.post("/api/v1/files", { ...good, parts });
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"]);
    assert.deepEqual(Object.keys(body.errors), ["parts"]);
  });
}

Deno.test("without requested parts the reservation has no part URLs, and the confirmation needs no body", async () => {
  for (const parts of [undefined, null, false]) {
    const { status, body } = await actor.post("/api/v1/files", { ...good, parts });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body).sort(), [
      "fileId",
      "requiredHeaders",
      "uploadExpiresAt",
      "uploadUrl",
    ]);
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

Deno.test("other errors of a reservation are reported before those of its parts", async () => {
  const ask = async (change: Record<string, unknown>) =>
    (await actor.post("/api/v1/files", { ...good, parts: 500, ...change })).body.code;
  assert.equal(await ask({ isProduct: true }), "MISSING_PERMISSION");
  assert.equal(await ask({ profile: "x" }), "FILE_PROFILE_UNKNOWN");
  assert.equal(await ask({ contentType: "a/b" }), "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
  assert.equal(await ask({ sizeBytes: 201 * MIB }), "FILE_TOO_LARGE_UNPROCESSABLE");
  assert.equal(await ask({}), "VALIDATION_ERROR");
});

Deno.test("if the storage does not answer, no reservation is stored", async () => {
  const [before] = await sql`select count(*) from files`;
  const putBack = t.replace((p) => p.objects, {
    startParts: () => Promise.reject(new ObjectStoreUnavailable("no answer")),
  });
  const { status, body } = await actor.post("/api/v1/files", { ...good, parts: true }).finally(putBack);
  assert.deepEqual([status, body.code], [503, "FILE_STORAGE_UNAVAILABLE"]);
  assert.deepEqual({ ...(await sql`select count(*) from files`)[0] }, { ...before });
});

Deno.test("requests with an Idempotency-Key that wait for storage do not block database connections", async () => {
  const { promise: noAnswer, reject: giveUp } = Promise.withResolvers<string>();
  let asked = 0;
  const putBack = t.replace((p) => p.objects, {
    startParts: () => {
      asked++;
      return noAnswer;
    },
  });
  const connections = INSTANCES * t.steward.platform.config.DATABASE_POOL;
  const keys = Array.from({ length: connections + 2 }, () => crypto.randomUUID());
  const reserve = (key: string) =>
    actor.post("/api/v1/files", { ...good, parts: true }, { "idempotency-key": key });
  try {
    const waiting = keys.map(reserve);
    const givenUpAt = performance.now() + 5_000;
    while (asked < keys.length && performance.now() < givenUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(asked, keys.length);
    assert.equal((await actor.get("/api/v1/files")).status, 200);
    giveUp(new ObjectStoreUnavailable("no answer"));
    for (const { body } of await Promise.all(waiting)) assert.equal(body.code, "FILE_STORAGE_UNAVAILABLE");
  } finally {
    giveUp(new ObjectStoreUnavailable("no answer"));
    putBack();
  }
  const [key = ""] = keys;
  const made = await reserve(key);
  assert.equal(made.status, 201, "a refusal leaves the key free");
  const again = await reserve(key);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, made.body);
});

Deno.test("the id of an upload appears only in signed URLs", async () => {
  const { status, body } = await actor.post("/api/v1/files", { ...good, parts: 20 });
  assert.equal(status, 201);
  const [row] = await sql<{ uploadId: string }[]>`
    select upload_id from file_objects where file_id = ${body.fileId}`;
  const uploadId = row?.uploadId ?? "";
  assert.ok(uploadId.length > 20);
  for (const part of body.parts) assert.ok(part.uploadUrl.includes(`uploadId=${uploadId}`));
  const { parts: _, ...rest } = body;
  const answers = [
    await actor.post(`/api/v1/files/${body.fileId}/complete`, { parts: [{ partNumber: 1, etag: "x" }] }),
    await actor.post(`/api/v1/files/${body.fileId}/complete`, {
      parts: body.parts.map(({ partNumber }: Part) => ({ partNumber, etag: "x" })),
    }),
    await actor.get(`/api/v1/files/${body.fileId}`),
  ];
  assert.deepEqual(answers.map((answer) => answer.status), [400, 409, 200]);
  const visible = JSON.stringify([rest, answers, t.logs, await sql`select * from audit_log`]);
  assert.ok(!visible.includes(uploadId));
});
