import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import { expireReservations } from "../../../domain/files/sweeps.ts";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import type { Scanner } from "../../../infra/scanner/scanner.ts";
import { has, invalid } from "../../support/answers.ts";
import { noise } from "../../support/content.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { zip } from "../../support/samples.ts";
import type { TestService } from "../../support/setup.ts";
import { ALL, type Reservation, Uploading } from "./uploading.ts";

const ARCHIVE = { profile: "archive", fileName: "big.zip", contentType: "application/zip" };
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export interface Part {
  partNumber: number;
  sizeBytes: number;
  uploadUrl: string;
  requiredHeaders: Record<string, string>;
}
interface PartReservation extends Reservation {
  parts: Part[];
}

interface Progress {
  uploadExpiresAt: string;
  received: { partNumber: number; sizeBytes: number; etag: string }[];
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

/**
 * Defines the tests of uploads by parts on a service with this object store.
 * @param o.checksParts false: the store refuses a part whose URL is signed for a checksum
 */
export async function describeUploads(
  store: string,
  t: TestService,
  { checksParts = true } = {},
): Promise<void> {
  const files = new Uploading(t);
  const actor = await t.actor({ permissions: ALL });
  const p = t.steward.platform;
  const { sql, objects } = p;
  const test = (sentence: string, run: () => Promise<void>) => Deno.test(`${store}: ${sentence}`, run);
  const complete = (fileId: string, body?: unknown) => actor.post(`/api/v1/files/${fileId}/complete`, body);
  const small = zip([["a.txt", "text"]]);
  const scan: Scanner["scan"] = async (content) => {
    await content.pipeTo(new WritableStream());
    return { verdict: "Clean" };
  };
  Deno.test.afterAll(t.replace((p) => p.scanner, { scan })); // scanning large files takes long

  const reserve = async (parts: number | true, bytes = small): Promise<PartReservation> =>
    await accepted(actor.post("/api/v1/files", { ...ARCHIVE, sizeBytes: bytes.length, parts }), 201);
  /** Uploads every part, the last one first, and returns the body of the confirmation. */
  async function sendAll({ parts }: PartReservation, bytes = small) {
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
  const recordOf = async (fileId: string) => (await actor.get(`/api/v1/files/${fileId}`)).body;
  const isAvailable = async (fileId: string, bytes = small) =>
    has(await files.scanned(actor, fileId), { status: "Available", sha256: sha256(bytes) });

  test("a file is uploaded in parts, each of which the confirmation must name once, joined, and downloaded unchanged", async () => {
    const big = zip([["noise.bin", noise(10 * 1024 * 1024)]], { store: true });
    const reserved = await reserve(true, big);
    assert.deepEqual(reserved.parts.map(({ sizeBytes }) => sizeBytes), [big.length], "one part is enough");
    const reservation = await reserve(2, big);
    const { fileId } = reservation;
    const half = Math.ceil(big.length / 2);
    has(reservation.parts, [
      { partNumber: 1, sizeBytes: half, requiredHeaders: { "Content-Length": String(half) } },
      { partNumber: 2, sizeBytes: big.length - half },
    ]);
    const [row] = await sql<{ seconds: number }[]>`
      select extract(epoch from upload_expires_at - created_at)::float8 as seconds from files where id = ${fileId}`;
    assert.ok(Number(row?.seconds) > 15 * 60, "a little more time than for a whole upload");

    const named = (parts: unknown) => complete(fileId, { parts });
    const notUploaded = async (answer: HttpAnswer, errors?: Record<string, string[]>) => {
      await refused("409 FILE_NOT_UPLOADED_CONFLICT", answer);
      if (errors) assert.deepEqual(answer.body.errors, errors);
    };
    const etag = "0".repeat(32);
    const [none, some] = [{ partNumber: 1, etag }, { partNumber: 2, etag }];
    await notUploaded(await named([none, some]), { "part 1": ["not uploaded"], "part 2": ["not uploaded"] });
    const [two, one] = await sendAll(reservation, big);
    assert.ok(one && two);
    const incomplete = await named([one]);
    assert.deepEqual(incomplete.body.errors, { parts: ["expected all 2 parts; missing: 2"] });
    invalid(await named([one, one, two]), "parts.1.partNumber");
    invalid(await named([one, one]), "parts", "parts.1.partNumber");
    invalid(await named([one, two, { partNumber: 3, etag }]), "parts.2.partNumber");
    invalid(await named([one, { partNumber: 2, etag: 'a"b' }]), "parts.1.etag");
    await notUploaded(await named([one, some]), { "part 2": ["storage has another ETag for this part"] });
    await notUploaded(await named([one, { partNumber: 2, etag: "<x>&" }]));
    const withoutBody = await complete(fileId);
    await notUploaded(withoutBody);
    assert.match(withoutBody.body.detail, /parts/);

    const parts = [two, one];
    assert.equal((await accepted(named(parts))).status, "Scanning");
    await isAvailable(fileId, big);
    const { url } = await accepted(actor.get(`/api/v1/files/${fileId}/download-url`));
    const served = async () => sha256(await (await fetch(url)).bytes());
    assert.equal(await served(), sha256(big));
    for (const again of [{ parts }, undefined]) {
      assert.equal((await accepted(complete(fileId, again))).status, "Available");
    }
    // No part URL, used again, changes what anyone can read.
    await send(reservation.parts[1], noise(big.length - half, 7));
    assert.equal(await served(), sha256(big));
    assert.equal((await complete(fileId, { parts })).body.sha256, sha256(big));
    const { key } = await uploadOf(fileId);
    await sql`update file_objects set delete_at = now() - interval '1 s', writable_until = null where key = ${key}`;
    await deleteDueObjects(p);
    assert.equal(await objects.head(key), null);
    assert.equal((await sql`select from file_objects where key = ${key}`).length, 0);
  });

  test("simultaneous confirmations join once and start one scan", async () => {
    const reservation = await reserve(1);
    const { fileId } = reservation;
    const parts = await sendAll(reservation);
    await Promise.all([1, 2, 3].map(() => accepted(complete(fileId, { parts }), 200)));
    const jobs = await sql`select from jobs where serialized_args like ${`%${fileId}%`}`;
    assert.equal(jobs.length, 1);
    await isAvailable(fileId);
  });

  test("a confirmation interrupted after the parts were joined can be repeated", async () => {
    const reservation = await reserve(1);
    const { fileId } = reservation;
    const parts = await sendAll(reservation);
    const { joinParts } = objects;
    const putBack = t.replace((p) => p.objects, {
      joinParts: async (...args) => {
        await joinParts(...args);
        throw new ObjectStoreUnavailable("the answer was lost");
      },
    });
    await refused("503 FILE_STORAGE_UNAVAILABLE", complete(fileId, { parts }).finally(putBack));
    assert.equal((await recordOf(fileId)).status, "Pending");
    await accepted(complete(fileId, { parts }));
    await isAvailable(fileId);

    const other = await reserve(1);
    await sendAll(other);
    const { key, uploadId } = await uploadOf(other.fileId);
    const etags = (await objects.listParts(key, uploadId)).map(({ etag }) => etag);
    assert.equal(await objects.joinParts(key, { uploadId, etags }), "joined");
    await accepted(complete(other.fileId), 200); // no parts need to be named after the join
    await isAvailable(other.fileId);
  });

  test("a reservation with parts can also be uploaded whole; its parts are deleted with the rest", async () => {
    const reservation = await reserve(1);
    await sendAll(reservation);
    assert.equal(await files.put(reservation, small), 200);
    await accepted(complete(reservation.fileId));
    await isAvailable(reservation.fileId);
    const { key, uploadId } = await uploadOf(reservation.fileId);
    assert.deepEqual(await objects.listParts(key, uploadId), []);
  });

  test("an interrupted upload goes on with fresh URLs for the missing parts, which storage checks by their SHA-256", async () => {
    const big = noise(10 * 1024 * 1024);
    const { fileId, parts: [first, second] } = await reserve(2, big);
    assert.ok(first && second);
    const half = first.sizeBytes;
    const path = `/api/v1/files/${fileId}/parts`;
    const resume = (body?: unknown): Promise<Progress> => accepted(actor.post(path, body));
    await sql`update files set upload_expires_at = now() + interval '1 minute' where id = ${fileId}`;
    const begun = await resume();
    assert.deepEqual([begun.received, begun.parts.length], [[], 2]);
    assert.ok(Date.parse(begun.uploadExpiresAt) > Date.now() + 10 * 60_000, "the reservation was extended");
    const { etag } = await send(begun.parts[0], big.subarray(0, half));

    const checksums = [{ partNumber: 2, sha256: sha256(big.subarray(half)) }];
    const rest = await resume({ checksums });
    assert.deepEqual(rest.received, [{ partNumber: 1, sizeBytes: half, etag: etag.replaceAll('"', "") }]);
    assert.deepEqual(rest.parts.map(({ partNumber }) => partNumber), [2]);
    const damaged = noise(big.length - half, 3);
    assert.ok((await send(rest.parts[0], damaged)).status >= 400, "other bytes than the checksum's");
    const whole = await send(rest.parts[0], big.subarray(half));
    assert.equal(whole.status, checksParts ? 200 : 403);
    if (!checksParts) await send((await resume()).parts[0], big.subarray(half));

    const { received, parts } = await resume();
    assert.deepEqual(parts, []);
    await sql`update files set upload_expires_at = created_at + interval '7 days' where id = ${fileId}`;
    const { uploadExpiresAt } = await resume();
    assert.equal((await resume()).uploadExpiresAt, uploadExpiresAt, "never earlier, at most a week");
    await accepted(complete(fileId, { parts: received }));
    const after = await resume();
    assert.deepEqual([after.received, after.parts], [[], []]);
  });

  test("an upload is continued only by who reserved it, and only with parts", async () => {
    const { fileId } = await reserve(1);
    const path = `/api/v1/files/${fileId}/parts`;
    const colleague = await t.actor({ permissions: ALL, tenantId: actor.tenantId ?? "" });
    await refused("403 FORBIDDEN", colleague.post(path));
    const sum = { sha256: "0".repeat(64) };
    const checksums = [1, 2].map((partNumber) => ({ partNumber, ...sum }));
    invalid(await actor.post(path, { checksums }), "checksums.1.partNumber");
    const whole = await files.reserve(actor, { bytes: small });
    await refused("409 FILE_NOT_UPLOADED_CONFLICT", actor.post(`/api/v1/files/${whole.fileId}/parts`));
    await sql`update files set upload_expires_at = now() - interval '1 s' where id = ${fileId}`;
    await refused("409 FILE_UPLOAD_EXPIRED_CONFLICT", actor.post(path));

    const joined = await reserve(1);
    await sendAll(joined);
    const { key, uploadId } = await uploadOf(joined.fileId);
    const etags = (await objects.listParts(key, uploadId)).map((part) => part.etag);
    await objects.joinParts(key, { uploadId, etags });
    const left: Progress = await accepted(actor.post(`/api/v1/files/${joined.fileId}/parts`));
    assert.deepEqual(left.parts, [], "a confirmation has joined them before it was interrupted");
  });

  test("an expired upload is rejected, and the sweep deletes its parts", async () => {
    const reservation = await reserve(1);
    const { fileId } = reservation;
    const parts = await sendAll(reservation);
    const { key, uploadId } = await uploadOf(fileId);
    assert.equal((await objects.listParts(key, uploadId)).length, 1);
    await sql`update files set upload_expires_at = now() - interval '1 second' where id = ${fileId}`;
    await refused("409 FILE_UPLOAD_EXPIRED_CONFLICT", complete(fileId, { parts }));
    assert.equal(await objects.head(key), null, "nothing was joined");
    await expireReservations(p);
    assert.deepEqual(await objects.listParts(key, uploadId), []);
    assert.equal((await send(reservation.parts[0], small)).status, 404);
    await refused("409 FILE_UPLOAD_EXPIRED_CONFLICT", complete(fileId, { parts }));
  });
}
