import assert from "node:assert/strict";
import type { Tour } from "./tour.ts";

const NAME = "Zoë’s façade ✓ 図面.png";
/** A real one-pixel PNG. */
const PNG = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (char) => char.charCodeAt(0),
);
/** The standard anti-virus test file, built from parts so that no scanner reports this source file. */
const EICAR = new TextEncoder().encode(
  ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!$H+H*"].join(""),
);

/** Files: upload, scan and download of a clean file; an infected file and one with a wrong type are not served. */
export async function fileSteps(tour: Tour): Promise<void> {
  tour.section("Files");
  const { member } = tour;

  const upload = async (
    content: Uint8Array<ArrayBuffer>,
    reservation: Record<string, unknown>,
  ): Promise<string> => {
    const reserved = await member.expect(201, "POST", "/api/v1/files", {
      ...reservation,
      sizeBytes: content.length,
    });
    const put = await fetch(reserved.uploadUrl, {
      method: "PUT",
      headers: reserved.requiredHeaders,
      body: content,
    });
    assert.equal(put.status, 200, `storage answered ${put.status}: ${await put.text()}`);
    const completed = await member.expect(200, "POST", `/api/v1/files/${reserved.fileId}/complete`);
    assert.equal(completed.status, "Scanning");
    return reserved.fileId;
  };
  const verdict = async (id: string) =>
    await tour.until("the scan", async () => {
      const record = await member.expect(200, "GET", `/api/v1/files/${id}`);
      return record.status === "Scanning" ? null : record;
    });

  const id = await tour.step(
    "Zoë reserves a file, uploads a PNG to the signed URL and completes it: Scanning",
    async () => await upload(PNG, { profile: "image", fileName: NAME, contentType: "image/png" }),
  );
  await tour.step("a background job scans it: Available", async () => {
    const record = await verdict(id);
    assert.equal(record.status, "Available");
    assert.equal(record.detectedContentType, "image/png");
  });
  await tour.step(
    "the download URL returns the same bytes, as an attachment with the original name",
    async () => {
      const { url } = await member.expect(200, "GET", `/api/v1/files/${id}/download-url`);
      const download = await fetch(url);
      assert.deepEqual(new Uint8Array(await download.arrayBuffer()), PNG);
      assert.equal(download.headers.get("content-type"), "application/octet-stream");
      const disposition = download.headers.get("content-disposition") ?? "";
      assert.match(disposition, /^attachment/);
      assert.equal(decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1] ?? ""), NAME);
    },
  );
  await tour.step("the EICAR test file becomes Infected and cannot be downloaded", async () => {
    const infected = await upload(EICAR, {
      profile: "document",
      fileName: "letter.txt",
      contentType: "text/plain",
    });
    assert.equal((await verdict(infected)).status, "Infected");
    await member.refused(409, "FILE_INFECTED_CONFLICT", "GET", `/api/v1/files/${infected}/download-url`);
  });
  await tour.step("a text file renamed to .png is purged; its record shows the reason", async () => {
    const text = new TextEncoder().encode("This is no picture.\n");
    const disguised = await upload(text, {
      profile: "image",
      fileName: "photo.png",
      contentType: "image/png",
    });
    const record = await verdict(disguised);
    assert.equal(record.status, "Purged");
    assert.equal(record.purgeReason, "job:tipo-reprovado");
    assert.equal(record.rejectionCode, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
    assert.match(record.sha256, /^[0-9a-f]{64}$/);
  });
}
