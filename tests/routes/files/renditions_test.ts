import assert from "node:assert/strict";
import PDFDocument from "pdfkit";
import sharp from "sharp";
import { transact } from "../../../infra/postgres/postgres.ts";
import { has, invalid } from "../../support/answers.ts";
import { pngImage } from "../../support/images.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { png, utf8 } from "../../support/samples.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { ALL, type Content, Uploading } from "./uploading.ts";

const t = await setupShared({}, { inThisProcess: true });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });

const THUMBNAIL = { width: 256, height: 256, fit: "cover", format: "webp" };
const PREVIEW = { width: 1280, height: 1280, fit: "inside", format: "webp" };
const PAGE = { width: 640, height: 900, fit: "inside", format: "webp" };
const image = (bytes: Uint8Array, contentType: string): Content => ({ bytes, profile: "image", contentType });

const photo = new Uint8Array(
  await sharp({ create: { width: 1000, height: 500, channels: 3, background: "#c03030" } })
    .withExif({ IFD0: { Copyright: "a secret place" } }).jpeg().toBuffer(),
);

async function upload(content: Content): Promise<string> {
  const { fileId } = await files.upload(actor, content);
  const { status, detectedContentType } = await files.scanned(actor, fileId);
  assert.deepEqual([status, detectedContentType], ["Available", content.contentType]);
  return `/api/v1/files/${fileId}/renditions`;
}

/** Asks for a picture and waits until its job has ended. */
async function made(path: string, size: typeof THUMBNAIL, name = "thumbnail") {
  await accepted(actor.post(path, size));
  const all = await until(
    async () => (await accepted(actor.get(path))) as { name: string; status: string; reason: string }[],
    (all) => all.some((one) => one.name === name && one.status !== "Pending"),
  );
  return all.find((one) => one.name === name);
}

async function pictureOf(path: string, name: string) {
  const { url } = await accepted(actor.get(`${path}/${name}?redirect=false`));
  const response = await fetch(url);
  const bytes = await response.bytes();
  return { url, headers: response.headers, ...await sharp(bytes).metadata() };
}

const path = await upload(image(photo, "image/jpeg"));

Deno.test("a picture is made in the sizes of the profile, without metadata, at an address that stays the same", async () => {
  await refused("404 FILE_RENDITION_NOT_FOUND", actor.get(`${path}/thumbnail`));
  const thumbnail = await made(path, THUMBNAIL);
  const made256 = { status: "Ready", contentType: "image/webp", width: 256, height: 256, reason: null };
  has(thumbnail, { name: "thumbnail", ...made256 });
  const { url, headers, exif, format } = await pictureOf(path, "thumbnail");
  assert.deepEqual([format, exif], ["webp", undefined]);
  const served = ["content-type", "content-disposition", "cache-control"].map((name) => headers.get(name));
  assert.deepEqual(served, ["image/webp", "inline", "private, max-age=86400, immutable"]);
  const redirect = await fetch(`${t.url}${path}/thumbnail`, {
    headers: { authorization: `Bearer ${actor.token}` },
    redirect: "manual",
  });
  await redirect.body?.cancel();
  assert.deepEqual([redirect.status, redirect.headers.get("location")], [302, url]);
  const again = await accepted(actor.post(path, THUMBNAIL));
  assert.equal(again.status, "Ready", "asked for again, it is the same");

  assert.equal((await made(path, PREVIEW, "preview"))?.status, "Ready");
  const { width, height } = await pictureOf(path, "preview");
  assert.deepEqual([width, height], [1000, 500], "never enlarged");
});

Deno.test("only sizes that the profile lists are made, and only of images and PDFs", async () => {
  invalid(await actor.post(path, { ...THUMBNAIL, width: 257 }), "width");
  const text = await upload({ bytes: utf8("only text"), contentType: "text/plain" });
  await refused("422 FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE", actor.post(text, PAGE));
  const { body: profiles } = await actor.get("/api/v1/files/profiles");
  const { renditions } = profiles.find(({ name }: { name: string }) => name === "image");
  assert.deepEqual(renditions, { thumbnail: THUMBNAIL, preview: PREVIEW });
});

Deno.test("the preview of a PDF is its first page", async () => {
  const path = await upload({ bytes: await twoPages(), contentType: "application/pdf" });
  assert.equal((await made(path, PAGE, "preview"))?.status, "Ready");
  const { width, height, url } = await pictureOf(path, "preview");
  assert.deepEqual([width, height], [636, 900], "A4");
  const middle = { left: 300, top: 400, width: 1, height: 1 };
  const data = await sharp(await (await fetch(url)).bytes()).extract(middle).raw().toBuffer();
  const [red = 0, green = 0] = data;
  assert.ok(red > 200 && green < 60, "the first page is red");
});

Deno.test("damaged and hostile content ends as a failed picture with its reason, and the service goes on", async () => {
  const hostile: [content: Content, reason: RegExp][] = [
    [image(photo.slice(0, photo.length / 2), "image/jpeg"), /end of JPEG/],
    [image(withSides(png(), 60_000), "image/png"), /pixel limit/],
    [{ bytes: utf8("%PDF-1.7\nno pages\n%%EOF"), contentType: "application/pdf" }, /./],
  ];
  for (const [content, reason] of hostile) {
    const path = await upload(content);
    const isImage = content.profile === "image";
    const failed = await made(path, isImage ? THUMBNAIL : PAGE, isImage ? "thumbnail" : "preview");
    assert.equal(failed?.status, "Failed", content.contentType);
    assert.match(failed.reason, reason);
    await refused("409 FILE_RENDITION_NOT_READY_CONFLICT", actor.get(`${path}/${failed.name}`));
  }
  const frames = Array.from({ length: 3 }, () => pngImage(8, 8));
  const animation = await sharp(frames, { join: { animated: true } }).gif().toBuffer();
  const path = await upload(image(new Uint8Array(animation), "image/gif"));
  assert.equal((await made(path, THUMBNAIL))?.status, "Ready");
});

Deno.test("a picture goes with its file", async () => {
  const { url } = await pictureOf(path, "thumbnail");
  const file = path.replace("/renditions", "");
  await accepted(actor.post(`${file}/purge`, { reason: "no longer needed" }));
  await refused("409 FILE_PURGED_CONFLICT", actor.get(`${path}/thumbnail`), actor.post(path, THUMBNAIL));
  assert.equal((await fetch(url)).status, 404);
  assert.deepEqual(await accepted(actor.get(path)), []);
});

Deno.test("a picture whose file is purged while it is stored is deleted", async () => {
  const path = await upload(image(photo, "image/jpeg"));
  const fileId = path.split("/")[4] ?? "";
  const { objects, sql } = t.platform;
  const write = objects.write.bind(objects);
  const purged = Promise.withResolvers<string>();
  using _ = t.replace((p) => p.objects, {
    write: async (key, ...content) => {
      const purge = await actor.post(`/api/v1/files/${fileId}/purge`, { reason: "no longer needed" });
      assert.equal(purge.status, 200);
      const written = await write(key, ...content);
      purged.resolve(key);
      return written;
    },
  });
  await accepted(actor.post(path, THUMBNAIL));
  const key = await purged.promise;
  assert.ok(await objects.head(key));
  const [row] = await sql`select delete_at is not null as is_deleted from file_objects where key = ${key}`;
  assert.deepEqual(row, { isDeleted: true });
});

Deno.test("no picture is made of a file that is purged while it is asked for", async () => {
  const path = await upload(image(photo, "image/jpeg"));
  const file = path.replace("/renditions", "");
  const asking = await transact(t.sql, async (tx) => {
    await tx`select from files where id = ${file.split("/").at(-1) ?? ""} for update`;
    const purging = actor.post(`${file}/purge`, { reason: "no longer needed" });
    await until(() => countLockWaits(tx), (waiting) => waiting >= 1);
    const asked = actor.post(path, THUMBNAIL);
    await until(() => countLockWaits(tx), (waiting) => waiting >= 2);
    return [purging, asked] as const;
  });
  await accepted(asking[0]);
  await refused("409 FILE_PURGED_CONFLICT", asking[1]);
  assert.deepEqual(await accepted(actor.get(path)), []);
});

/** A PDF of A4 pages, the first one red. */
async function twoPages(): Promise<Uint8Array> {
  const document = new PDFDocument({ size: "A4", margin: 0 });
  const chunks: Uint8Array[] = [];
  const ended = new Promise((resolve) => document.on("end", resolve));
  document.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  document.rect(0, 0, 600, 850).fill("red");
  document.addPage().rect(0, 0, 600, 850).fill("blue");
  document.end();
  await ended;
  return await new Blob(chunks as BlobPart[]).bytes();
}

/** A PNG whose header claims these sides. */
function withSides(image: Uint8Array, side: number): Uint8Array {
  const bytes = image.slice();
  const view = new DataView(bytes.buffer);
  view.setUint32(16, side);
  view.setUint32(20, side);
  return bytes;
}
