import { ObjectStoreUnavailable } from "./errors.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";
import { METADATA_TIMEOUT_MS } from "./timeouts.ts";
import { xmlText, xmlTexts } from "./xml.ts";

/** A multipart upload that was started and neither completed nor aborted. */
export interface UnfinishedUpload {
  key: string;
  uploadId: string;
  startedAt: Date;
}

/**
 * Yields every unfinished upload under a prefix. Requests one page at a time.
 * @throws ObjectStoreRefused if the store cannot list uploads, ObjectStoreUnavailable
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
      throw new ObjectStoreUnavailable(`${action}: the object store's answer is not a listing`);
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
    const isUnchanged = next["key-marker"] === marker["key-marker"] &&
      next["upload-id-marker"] === marker["upload-id-marker"];
    if (xmlText(xml, "IsTruncated") !== "true" || isUnchanged || next["key-marker"] === "") return;
    marker = next;
  }
}
