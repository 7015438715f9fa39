import { ObjectStoreUnavailable } from "./errors.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";
import { METADATA_TIMEOUT_MS } from "./timeouts.ts";
import { xmlText, xmlTexts } from "./xml.ts";

/** A multipart upload that was begun and neither completed nor aborted. */
export interface UnfinishedUpload {
  key: string;
  uploadId: string;
  startedAt: Date;
}

/**
 * Every unfinished upload under a prefix, page by page.
 * @throws ObjectStoreRefused where the store cannot list them, ObjectStoreUnavailable
 */
export async function* listUploads(
  clientFor: (bounds: CallBounds) => BoundedS3Client,
  prefix: string,
): AsyncGenerator<UnfinishedUpload> {
  const action = "listing multipart uploads";
  let marker: Record<string, string> = {};
  for (;;) {
    const response = await clientFor({ action, timeoutMs: METADATA_TIMEOUT_MS }).makeRequest({
      method: "GET",
      objectName: "",
      query: { uploads: "", prefix, ...marker },
      returnBody: true,
    });
    const xml = await response.text();
    if (!/<ListMultipartUploadsResult[\s>]/.test(xml)) {
      throw new ObjectStoreUnavailable(`${action}: the object store answered something else than a listing`);
    }
    for (const upload of xmlTexts(xml, "Upload")) {
      const key = xmlText(upload, "Key");
      const uploadId = xmlText(upload, "UploadId");
      const startedAt = new Date(xmlText(upload, "Initiated") ?? "");
      if (key && uploadId && !Number.isNaN(startedAt.getTime())) yield { key, uploadId, startedAt };
    }
    const next = {
      "key-marker": xmlText(xml, "NextKeyMarker") ?? "",
      "upload-id-marker": xmlText(xml, "NextUploadIdMarker") ?? "",
    };
    const stands = next["key-marker"] === marker["key-marker"] &&
      next["upload-id-marker"] === marker["upload-id-marker"];
    if (xmlText(xml, "IsTruncated") !== "true" || stands || next["key-marker"] === "") return;
    marker = next;
  }
}
