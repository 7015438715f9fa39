import assert from "node:assert/strict";
import { objectUrl } from "../../../infra/objectstore/address.ts";
import { attachment } from "../../../infra/objectstore/content_disposition.ts";
import {
  presignDownload,
  presignPart,
  presignUpload,
  urlSigning,
} from "../../../infra/objectstore/presign.ts";
import { StoreClock } from "../../../infra/objectstore/store_clock.ts";
import { systemClock } from "../../../domain/shared/clock.ts";
import { signQuery } from "./sign_query.ts";

const KEYS = ["a", "staging/x-_~.y", "files/plain", "ü b+c%25/d'(e)!*", "日本/語", "what?#now"];
const FILE_NAMES = ["a b+c.txt", "Ü '()*~!.pdf", "日本.csv"];
const now = new Date("2026-11-20T10:11:12Z");
const credentials = { accessKey: "AKID", secretKey: "secret/+=" };

const bucketsAt: [endpoint: string, pathStyle: boolean][] = [
  ["https://s3.example.com", true],
  ["https://s3.example.com", false],
  ["http://127.0.0.1:9000", true],
  ["https://gate.example.com/s3/", true],
];
for (const [endpoint, pathStyle] of bucketsAt) {
  for (const region of ["us-east-1", "eu-central-1"]) {
    Deno.test(`signatures for ${endpoint} (${region}, path style ${pathStyle}) match the specification`, async () => {
      const address = { bucket: "my-bucket", pathStyle };
      const config = { endpoint, publicEndpoint: endpoint, region, ...address, ...credentials };
      const signing = urlSigning(config, new StoreClock(systemClock));
      for (const key of KEYS) {
        const right = (
          method: "GET" | "PUT",
          headers: Record<string, string>,
          query: Record<string, string>,
        ) =>
          signQuery({
            method,
            headers,
            query,
            region,
            ...credentials,
            signedAt: now,
            expiresInSeconds: 300,
            url: objectUrl(endpoint, address, key),
          });
        const common = { expiresInSeconds: 300, now };
        for (const fileName of FILE_NAMES) {
          alike(
            (await presignDownload(signing, key, { fileName, ...common })).url,
            right("GET", {}, {
              "response-content-disposition": attachment(fileName),
              "response-content-type": "application/octet-stream",
            }),
          );
        }
        const contentType = "text/plain; charset=utf-8";
        const upload = await presignUpload(signing, key, { contentType, sizeBytes: 12, ...common });
        alike(upload.url, right("PUT", { "Content-Type": contentType, "Content-Length": "12" }, {}));
        const part = await presignPart(signing, key, {
          uploadId: "a/b+c=d&e ~",
          partNumber: 3,
          sizeBytes: 12,
          ...common,
        });
        alike(
          part.url,
          right("PUT", { "Content-Length": "12" }, { partNumber: "3", uploadId: "a/b+c=d&e ~" }),
        );
      }
    });
  }
}

/** The URLs have the same address, parameters and signature, in any order; a space is never written as +. */
function alike(made: string, right: string): void {
  const [ours, theirs] = [new URL(made), new URL(right)];
  assert.deepEqual(Object.fromEntries(ours.searchParams), Object.fromEntries(theirs.searchParams), made);
  assert.equal(ours.origin + ours.pathname, theirs.origin + theirs.pathname);
  assert.ok(!ours.search.includes("+"), made);
}
