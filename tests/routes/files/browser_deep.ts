import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { atEnd } from "../../support/at_end.ts";
import { accepted } from "../../support/outcomes.ts";
import { noise } from "../../support/content.ts";
import { openBrowser } from "../../support/chromium.ts";
import { zip } from "../../support/samples.ts";
import { setup } from "../../support/setup.ts";
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

const stores: [store: string, env: Record<string, string>, isThere: boolean][] = [
  ["embedded", {}, browser !== null],
  ["Swift", await onSwift(), swift !== null],
];

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

for (const [store, env, isThere] of stores) {
  const why = isThere ? "" : " (ignored: not installed)";
  Deno.test({
    name:
      `${store}: a page of another origin uploads a file whole, and in parts, and saves the scanned file under its name${why}`,
    ignore: !isThere,
    async fn() {
      await using t = await setup(env);
      const page = await (browser ?? assert.fail()).newPage({ acceptDownloads: true });
      await using _ = atEnd(() => page.close());
      const failures: string[] = [];
      page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
      await page.goto(`http://app.test:${server.addr.port}/`);
      await page.setInputFiles("input", `${folder}/${fileName}`);
      const actor = await t.actor({ permissions: ALL });
      const sizeBytes = content.length;
      const file = { profile: "archive", fileName, contentType: "application/zip", sizeBytes };
      /** Uploads the file by a function of the page. @returns what that answered, and the path of the file */
      const uploaded = async <S extends Sent | PartSent[]>(put: string, parts: number | null) => {
        const reservation = await accepted(actor.post("/api/v1/files", { ...file, parts }), 201);
        const sent = await page.evaluate(`${put}(${JSON.stringify(reservation)})`) as S;
        const path = `/api/v1/files/${reservation.fileId}`;
        const named = Array.isArray(sent) ? { parts: sent } : undefined;
        await accepted(actor.post(`${path}/complete`, named), 200);
        const { sha256: found } = await new Uploading(t).scanned(actor, reservation.fileId);
        assert.equal(found, sha256(content), failures.join());
        return { sent, path };
      };

      const { sent, path } = await uploaded<Sent>("putWhole", null);
      assert.equal(sent.status, 200);
      const { url } = await accepted(actor.get(`${path}/download-url`), 200);
      const saving = page.evaluate(`save(${JSON.stringify(url)})`);
      const [download] = await Promise.all([page.waitForEvent("download"), saving]);
      assert.equal(download.suggestedFilename(), fileName);
      assert.equal(sha256(await Deno.readFile(await download.path())), sha256(content));
      assert.match(page.url(), /app\.test/, "the page was not left");

      const { sent: parts } = await uploaded<PartSent[]>("putParts", 2);
      assert.deepEqual(parts.map(({ status }) => status), [200, 200]);
      assert.ok(parts.every(({ etag }) => etag), "ETag is exposed to pages");
    },
  });
}

interface Sent {
  status: number;
  etag: string | null;
}

interface PartSent extends Sent {
  partNumber: number;
}
