import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { accepted } from "../../support/outcomes.ts";
import { noise } from "../../support/content.ts";
import { openBrowser } from "../../support/chromium.ts";
import { zip } from "../../support/samples.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { canRunSwift, startSwift } from "../../support/swift.ts";
import { ALL, Uploading } from "./uploading.ts";

const browser = await openBrowser();
const swift = browser && canRunSwift ? await startSwift() : null;
Deno.test.afterAll(async () => {
  await browser?.close();
  await swift?.stop();
});

const MIB = 1024 * 1024;
const content = zip([["noise.bin", noise(10 * MIB)]]);
const fileName = "Übersicht 2026 – “final” 日本語 🧾.zip";
const folder = await Deno.makeTempDir({ prefix: "browser-" });
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));
await Deno.writeFile(`${folder}/${fileName}`, content);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

// A page of an origin that is neither the service's nor the store's: any product's page can do the same.
const PAGE = `<!doctype html><meta charset="utf-8"><title>A product</title><input type="file"><script>
async function put({ uploadUrl, requiredHeaders }, body) {
  const answer = await fetch(uploadUrl, { method: "PUT", headers: requiredHeaders, body });
  return { status: answer.status, etag: answer.headers.get("etag") };
}
const chosen = () => document.querySelector("input").files[0];
const putWhole = (reservation) => put(reservation, chosen());
async function putParts({ parts }) {
  let start = 0;
  return await Promise.all(parts.map(async (part) => {
    const body = chosen().slice(start, start += part.sizeBytes);
    return { partNumber: part.partNumber, ...await put(part, body) };
  }));
}
function save(url) {
  const link = document.createElement("a");
  link.href = url;
  document.body.append(link);
  link.click();
}
</script>`;

const server = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  () => new Response(PAGE, { headers: { "content-type": "text/html; charset=utf-8" } }),
);
Deno.test.afterAll(() => server.shutdown());

await describePage("embedded", {}, browser === null);
await describePage("Swift", await onSwift(), swift === null);

async function onSwift(): Promise<Record<string, string>> {
  if (!swift) return {};
  const { endpoint, region, bucket, accessKey, secretKey } = await swift.bucket();
  return {
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
  };
}

async function describePage(store: string, env: Record<string, string>, ignore: boolean): Promise<void> {
  const why = ignore ? " (ignored: not installed)" : "";
  const t = ignore ? null : await setup(env);
  Deno.test.afterAll(async () => await t?.stop());
  const test = (sentence: string, run: (o: Visit) => Promise<void>) =>
    Deno.test({
      name: `${store}: ${sentence}${why}`,
      ignore,
      fn: async () => {
        assert.ok(browser && t);
        const page = await browser.newPage({ acceptDownloads: true });
        const failures: string[] = [];
        page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
        try {
          await page.goto(`http://app.test:${server.addr.port}/`);
          await page.setInputFiles("input", `${folder}/${fileName}`);
          const actor = await t.actor({ permissions: ALL });
          const reserve = async (parts: number | null) => {
            const { status, body } = await actor.post("/api/v1/files", {
              profile: "archive",
              fileName,
              contentType: "application/zip",
              sizeBytes: content.length,
              parts,
            });
            assert.equal(status, 201, JSON.stringify(body));
            return body;
          };
          await run({ page, actor, reserve, failures, files: new Uploading(t) });
        } finally {
          await page.close();
        }
      },
    });

  test("a page of another origin uploads to storage and saves the scanned file under its name", async (o) => {
    const { page, actor, files } = o;
    const reservation = await o.reserve(null);
    const sent = await page.evaluate(`putWhole(${JSON.stringify(reservation)})`);
    assert.equal((sent as { status: number }).status, 200, o.failures.join());
    assert.equal((await actor.post(`/api/v1/files/${reservation.fileId}/complete`)).status, 200);
    assert.equal((await files.scanned(actor, reservation.fileId)).sha256, sha256(content));
    const body = await accepted(actor.get(`/api/v1/files/${reservation.fileId}/download-url`), 200);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.evaluate(`save(${JSON.stringify(body.url)})`),
    ]);
    assert.equal(download.suggestedFilename(), fileName);
    const saved = await Deno.readFile(await download.path());
    assert.equal(sha256(saved), sha256(content));
    assert.match(page.url(), /app\.test/, "the page was not left");
  });

  test("a page uploads parts concurrently and reads their ETags for the confirmation", async (o) => {
    const reservation = await o.reserve(2);
    const parts = await o.page.evaluate(`putParts(${JSON.stringify(reservation)})`) as PartSent[];
    assert.deepEqual(parts.map(({ status }) => status), [200, 200], o.failures.join());
    assert.ok(parts.every(({ etag }) => etag), "ETag is exposed to pages");
    const path = `/api/v1/files/${reservation.fileId}`;
    await accepted(o.actor.post(`${path}/complete`, { parts }), 200);
    assert.equal((await o.files.scanned(o.actor, reservation.fileId)).sha256, sha256(content));
  });
}

interface Reservation {
  fileId: string;
  requiredHeaders: Record<string, string>;
  parts: unknown[];
}

interface PartSent {
  status: number | string;
  etag: string | null;
}

interface Visit {
  page: Page;
  actor: Actor;
  reserve(parts: number | null): Promise<Reservation>;
  /** The errors on the page's console. */
  failures: string[];
  files: Uploading;
}
