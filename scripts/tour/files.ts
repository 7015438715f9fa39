import assert from "node:assert/strict";
import type { Story } from "./story.ts";

const NAME = "Zoë’s façade ✓ 図面.png";
/** A real one-pixel PNG. */
const PNG = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (char) => char.charCodeAt(0),
);
/** The standard anti-virus test file, put together here so that no scanner stumbles over this one. */
const EICAR = new TextEncoder().encode(
  ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!$H+H*"].join(""),
);

/** Files: straight to storage, scanned, served; what is infected or disguised never gets out. */
export async function fileSteps(story: Story): Promise<void> {
  story.chapter("Files");
  const { member } = story;

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
    await story.until("the scan", async () => {
      const record = await member.expect(200, "GET", `/api/v1/files/${id}`);
      return record.status === "Scanning" ? null : record;
    });

  const id = await story.step(
    "Zoë reserves a file, PUTs a PNG to the signed URL, completes: Scanning",
    async () => await upload(PNG, { profile: "image", fileName: NAME, contentType: "image/png" }),
  );
  await story.step("a background job scans it: Available", async () => {
    const record = await verdict(id);
    assert.equal(record.status, "Available");
    assert.equal(record.detectedContentType, "image/png");
  });
  await story.step(
    "the download URL gives the same bytes, as attachment under the original name",
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
  await story.step("the EICAR test file ends Infected and cannot be had", async () => {
    const infected = await upload(EICAR, {
      profile: "document",
      fileName: "letter.txt",
      contentType: "text/plain",
    });
    assert.equal((await verdict(infected)).status, "Infected");
    await member.refused(409, "FILE_INFECTED_CONFLICT", "GET", `/api/v1/files/${infected}/download-url`);
  });
  await story.step("a text renamed .png ends as a tombstone that says why", async () => {
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
