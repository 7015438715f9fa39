import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import PDFDocument from "pdfkit";
import { openBrowser } from "../../support/chromium.ts";
import { findProgram } from "../../support/processes.ts";
import { join, officeParts, packedBlanks, zip } from "../../support/samples.ts";
import { setup } from "../../support/setup.ts";
import { ALL, type Content, Uploading } from "./uploading.ts";

const t = await setup({}, { inThisProcess: true });
const browser = await openBrowser();
const folder = await Deno.makeTempDir({ prefix: "corpus-" });
Deno.test.afterAll(async () => {
  await browser?.close();
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function endsAs(status: string, content: Content, detected: string): Promise<void> {
  const record = await files.uploadAndScan(actor, content);
  assert.deepEqual([record.status, record.detectedContentType], [status, detected]);
  assert.equal(record.sha256, sha256(content.bytes));
}

// Real files, each made by the usual tool.

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args,
    cwd: folder,
    env: { HOME: folder },
    stdout: "null",
    stderr: "piped",
  }).output();
  assert.ok(success, `${program}: ${new TextDecoder().decode(stderr)}`);
}

const installed = (program: string) => findProgram(program) !== undefined;

/** A test of one tool's files; skipped with its name if the tool is not installed. */
function madeBy(
  tool: string,
  what: string,
  present: boolean,
  make: () => Promise<Content & { type: string }>,
) {
  Deno.test({
    name: `${what} made by ${tool} is Available${present ? "" : " (ignored: not installed)"}`,
    ignore: !present,
    fn: async () => {
      const { type, ...content } = await make();
      await endsAs("Available", { contentType: type, ...content }, type);
    },
  });
}

const made = (name: string) => Deno.readFile(`${folder}/${name}`);

madeBy("pdfkit", "a pdf", true, async () => {
  const document = new PDFDocument();
  const chunks: Uint8Array[] = [];
  const ended = Promise.withResolvers<void>();
  document.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  document.on("end", () => ended.resolve());
  document.text("Invoice 2026").end();
  await ended.promise;
  return { bytes: join(...chunks), type: "application/pdf" };
});
madeBy("Chromium", "a pdf", browser !== null, async () => {
  const page = await browser!.newPage();
  await page.setContent("<h1>Übersicht</h1><script>1</script><p>日本語");
  const bytes = new Uint8Array(await page.pdf());
  await page.close();
  return { bytes, type: "application/pdf" };
});
for (const kind of ["png", "jpeg", "webp"]) {
  madeBy("Chromium", `an image/${kind}`, browser !== null, async () => {
    const page = await browser!.newPage();
    const encoded = await page.evaluate(`(() => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 150 });
      const paint = canvas.getContext("2d");
      for (let x = 0; x < 200; x++) {
        paint.fillStyle = "hsl(" + x * 7 + " 80% 50%)";
        paint.fillRect(x, 0, 1, 150);
      }
      return canvas.toDataURL("image/${kind}").split(",")[1];
    })()`) as string;
    await page.close();
    return { profile: "image", bytes: Uint8Array.fromBase64(encoded), type: `image/${kind}` };
  });
}

const ooxml = "application/vnd.openxmlformats-officedocument.";
const spreadsheets: [kind: string, type: string][] = [
  ["xlsx", `${ooxml}spreadsheetml.sheet`],
  ["ods", "application/vnd.oasis.opendocument.spreadsheet"],
  ["xls", "application/vnd.ms-excel"],
];
for (const [kind, type] of spreadsheets) {
  madeBy("LibreOffice", `an ${kind}`, installed("localc"), async () => {
    await Deno.writeTextFile(`${folder}/table.csv`, "id,name\n1,Ana\n");
    await run("soffice", "--headless", "--convert-to", kind, "table.csv");
    return { bytes: await made(`table.${kind}`), type };
  });
}

// Archives that unpack to much more than their size.

/** The peak memory of this process in MiB; null if the system does not report it. */
async function peakMemory(): Promise<number | null> {
  const status = await Deno.readTextFile("/proc/self/status").catch(() => "");
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / 1024;
}

async function withPeak(work: () => Promise<void>): Promise<void> {
  const before = await peakMemory();
  await work();
  const after = await peakMemory();
  if (before && after) assert.ok(after - before < 300, `the peak grew from ${before} to ${after} MiB`);
}

const [, ...docxParts] = officeParts("wordprocessingml.document", "word/document.xml");
const docx = `${ooxml}wordprocessingml.document`;
const hugeTypes = zip([["[Content_Types].xml", packedBlanks(51)], ...docxParts]);

Deno.test("a document whose list of types unpacks to a gigabyte is rejected with a reason and little memory", () =>
  withPeak(async () => {
    const { id, status, purgeReason } = await files.uploadAndScan(actor, {
      bytes: hugeTypes,
      contentType: docx,
    });
    assert.deepEqual([status, purgeReason], ["Purged", "job:archive-limits"]);
    const [attempt] = (await actor.get(`/api/v1/files/${id}/scan-attempts`)).body;
    assert.match(attempt.errorMessage, /more than 200000000 bytes/);
  }));

Deno.test("such a document is rejected with little memory even if the engine does not check archives", () =>
  withPeak(async () => {
    const clean = { verdict: "Clean" } as const;
    const scan = (content: ReadableStream<Uint8Array>) =>
      content.pipeTo(new WritableStream()).then(() => clean);
    const putBack = t.replace((p) => p.scanner, { scan });
    await endsAs("Purged", { bytes: hugeTypes, contentType: docx }, "application/zip").finally(putBack);
  }));
