import { AwsV4Signer } from "aws4fetch";
import assert from "node:assert/strict";
import { amzDate, objectUrl } from "../../../infra/objectstore/address.ts";
import {
  attachment,
  presignDownload,
  presignPart,
  presignUpload,
} from "../../../infra/objectstore/presign.ts";
import { StoreClock } from "../../../infra/objectstore/store_clock.ts";
import { systemClock } from "../../../infra/clock.ts";
import { QuerySigner } from "../../../infra/objectstore/query_signer.ts";

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
Deno.test("signatures for every kind of address equal those of aws4fetch", async () => {
  for (const [endpoint, pathStyle] of bucketsAt) {
    for (const region of ["us-east-1", "eu-central-1"]) {
      const address = { bucket: "my-bucket", pathStyle };
      const config = { endpoint, publicEndpoint: endpoint, region, ...address, ...credentials };
      const signing = { signer: new QuerySigner(config), clock: new StoreClock(systemClock) };
      for (const key of KEYS) {
        const expected = (
          method: "GET" | "PUT",
          headers: Record<string, string>,
          query: Record<string, string>,
        ) => signByAws4fetch(objectUrl(endpoint, address, key), { method, headers, query, region });
        const common = { expiresInSeconds: 300, now };
        for (const fileName of FILE_NAMES) {
          assertSameUrl(
            presignDownload(signing, key, { fileName, ...common }).url,
            await expected("GET", {}, {
              "response-content-disposition": attachment(fileName),
              "response-content-type": "application/octet-stream",
            }),
          );
        }
        const contentType = "text/plain; charset=utf-8";
        const upload = presignUpload(signing, key, { contentType, sizeBytes: 12, ...common });
        assertSameUrl(
          upload.url,
          await expected("PUT", { "Content-Type": contentType, "Content-Length": "12" }, {}),
        );
        const part = presignPart(signing, key, {
          uploadId: "a/b+c=d&e ~",
          partNumber: 3,
          sizeBytes: 12,
          ...common,
        });
        assertSameUrl(
          part.url,
          await expected("PUT", { "Content-Length": "12" }, { partNumber: "3", uploadId: "a/b+c=d&e ~" }),
        );
      }
    }
  }
});

/** The URL that aws4fetch signs at `now` for 300 seconds. */
async function signByAws4fetch(
  url: URL,
  o: { method: string; headers: Record<string, string>; query: Record<string, string>; region: string },
): Promise<string> {
  for (const [name, value] of Object.entries(o.query)) url.searchParams.set(name, value);
  url.searchParams.set("X-Amz-Expires", "300");
  const signed = await new AwsV4Signer({
    method: o.method,
    url: url.href,
    headers: o.headers,
    region: o.region,
    service: "s3",
    accessKeyId: credentials.accessKey,
    secretAccessKey: credentials.secretKey,
    datetime: amzDate(now),
    signQuery: true,
    allHeaders: true,
  }).sign();
  return signed.url.href;
}

/** The URLs have the same address, parameters and signature, in any order; a space is never written as +. */
function assertSameUrl(made: string, expected: string): void {
  const [ours, theirs] = [new URL(made), new URL(expected)];
  assert.deepEqual(Object.fromEntries(ours.searchParams), Object.fromEntries(theirs.searchParams), made);
  assert.equal(ours.origin + ours.pathname, theirs.origin + theirs.pathname);
  assert.ok(!ours.search.includes("+"), made);
}
