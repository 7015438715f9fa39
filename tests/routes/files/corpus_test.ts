import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import PDFDocument from "pdfkit";
import { openBrowser } from "../../support/chromium.ts";
import { eicar, noise } from "../../support/content.ts";
import {
  gif,
  gzip,
  join,
  officeParts,
  packedBlanks,
  pdf,
  png,
  tar,
  utf8,
  zip,
} from "../../support/samples.ts";
import { setup } from "../../support/setup.ts";
import { ALL, type Content, Uploading } from "./uploading.ts";

const CEILING = 64 * 1024;
const t = await setup({
  FILE_PROFILES: JSON.stringify({
    tiny: { maxBytes: CEILING, contentTypes: ["text/plain", "image/png", "application/pdf"] },
  }),
}, { inThisProcess: true });
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

async function endsAs(status: string, content: Content, detected?: string): Promise<void> {
  const record = await files.uploadAndScan(actor, content);
  assert.equal(record.status, status, record.detectedContentType);
  if (detected) assert.equal(record.detectedContentType, detected);
  assert.equal(record.sha256, sha256(content.bytes));
  const { status: given } = await actor.get(`/api/v1/files/${record.id}/download-url`);
  assert.equal(given, status === "Available" ? 200 : 409);
}

// --- Real files, each made by the usual tool. ---

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

function installed(program: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  return folders.some((each) => {
    try {
      return Deno.statSync(`${each}/${program}`).isFile;
    } catch {
      return false;
    }
  });
}

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
const archive = { profile: "archive" };

madeBy("Info-ZIP", "a zip", installed("zip"), async () => {
  await Deno.writeTextFile(`${folder}/a – ü.txt`, "text ".repeat(1000));
  await run("zip", "made.zip", "a – ü.txt");
  return { ...archive, bytes: await made("made.zip"), type: "application/zip" };
});
madeBy("gzip", "a gzip", installed("gzip"), async () => {
  await Deno.writeTextFile(`${folder}/b.txt`, "text ".repeat(1000));
  await run("gzip", "-9", "b.txt");
  return { ...archive, bytes: await made("b.txt.gz"), type: "application/gzip" };
});
madeBy("tar", "a gzipped tar", installed("tar"), async () => {
  await Deno.writeTextFile(`${folder}/c.txt`, "text ".repeat(1000));
  await run("tar", "czf", "made.tgz", "c.txt");
  return { ...archive, bytes: await made("made.tgz"), type: "application/gzip" };
});
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

// --- Disguises. ---

const script = utf8("#!/bin/sh\nrm -rf /\n");
const svg = utf8('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
const html = utf8("<!doctype html><script>alert(1)</script>");
const program = join(utf8("\x7fELF\x02\x01\x01"), noise(2000));
const docx = `${ooxml}wordprocessingml.document`;
const disguises: [name: string, profile: string, contentType: string, bytes: Uint8Array][] = [
  ["a program as docx", "document", docx, program],
  ["a program as csv", "document", "text/csv", program],
  ["a program as zip", "archive", "application/zip", program],
  ["a script as png", "image", "image/png", script],
  ["html as pdf", "document", "application/pdf", html],
  ["html as csv", "document", "text/csv", html],
  ["html as jpeg", "image", "image/jpeg", html],
  ["html behind a byte order mark, as text", "document", "text/plain", join(utf8("\ufeff\n "), html)],
  ["svg as png", "image", "image/png", svg],
  ["svg as webp", "image", "image/webp", svg],
  ["svg as text", "document", "text/plain", svg],
  ["a jar as docx", "document", docx, zip([["META-INF/MANIFEST.MF", "Main-Class: A"], ["A.class", "x"]])],
  ["a png with a zip behind it", "image", "image/png", join(png(), zip([["a.js", "x"]]))],
  ["a gif with html in it", "image", "image/gif", join(gif, html)],
  ["a gif that is only its first bytes", "image", "image/gif", utf8("GIF89a")],
  [
    "a gzip with a zip behind it, as zip",
    "archive",
    "application/zip",
    join(utf8("\x1f"), zip([["a", "x"]])),
  ],
  ["one byte as png", "image", "image/png", Uint8Array.of(0x89)],
  ["one NUL as text", "document", "text/plain", Uint8Array.of(0)],
];
for (const [name, profile, contentType, bytes] of disguises) {
  Deno.test(`${name} never becomes Available`, () => endsAs("Purged", { bytes, profile, contentType }));
}

const renamed: [name: string, profile: string, contentType: string, bytes: Uint8Array, detected: string][] = [
  ["a pdf declared as docx", "document", docx, pdf(), "application/pdf"],
  ["a script declared as pdf", "document", "application/pdf", script, "text/plain"],
  ["one character declared as pdf", "document", "application/pdf", utf8("%"), "text/plain"],
  ["a gzip declared as zip", "archive", "application/zip", gzip(program), "application/gzip"],
];
for (const [name, profile, contentType, bytes, detected] of renamed) {
  Deno.test(`${name} is detected as what it is, which the profile allows too`, () =>
    endsAs("Available", { bytes, profile, contentType }, detected));
}

// --- Archives that unpack to much more than their size. ---

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

async function endsBeyondLimits(content: Content, reason: RegExp): Promise<void> {
  const record = await files.uploadAndScan(actor, content);
  assert.deepEqual(
    [record.status, record.purgeReason, record.rejectionCode, record.sha256],
    ["Purged", "job:archive-limits", "FILE_ARCHIVE_LIMITS_UNPROCESSABLE", sha256(content.bytes)],
  );
  const [attempt] = (await actor.get(`/api/v1/files/${record.id}/scan-attempts`)).body;
  assert.equal(attempt.verdict, "TypeRejected");
  assert.match(attempt.errorMessage, reason);
  const refused = await actor.get(`/api/v1/files/${record.id}/download-url`);
  assert.deepEqual(refused.body.errors.rejectionCode, ["FILE_ARCHIVE_LIMITS_UNPROCESSABLE"]);
}

const [, ...docxParts] = officeParts("wordprocessingml.document", "word/document.xml");
const hugeTypes = zip([["[Content_Types].xml", packedBlanks(51)], ...docxParts]);

Deno.test("a document whose list of types unpacks to a gigabyte is rejected with a reason and little memory", () =>
  withPeak(() => endsBeyondLimits({ bytes: hugeTypes, contentType: docx }, /more than 200000000 bytes/)));

Deno.test("such a document is rejected with little memory even if the engine does not check archives", () =>
  withPeak(async () => {
    const clean = { verdict: "Clean" } as const;
    const scan = async (
      content: ReadableStream<Uint8Array>,
    ) => (await content.pipeTo(new WritableStream()), clean);
    const putBack = t.replace((p) => p.scanner, { scan });
    await endsAs("Purged", { bytes: hugeTypes, contentType: docx }, "application/zip").finally(putBack);
  }));

Deno.test("an archive with too many levels is rejected with a reason", () =>
  endsBeyondLimits(
    {
      ...archive,
      contentType: "application/zip",
      bytes: zip([["a", zip([["b", zip([["c", zip([["d", "x"]])]])]])]]),
    },
    /nested more than 3 levels/,
  ));

for (
  const [name, contentType, bytes] of [
    ["a zip", "application/zip", zip([["note.txt", "x"], ["eicar.com", eicar()]])],
    ["a gzip", "application/gzip", gzip(eicar())],
    ["a gzipped tar in a zip", "application/zip", zip([["a.tgz", gzip(tar([["eicar.com", eicar()]]))]])],
  ] as const
) {
  Deno.test(`${name} with the EICAR test file in it ends Infected`, () =>
    endsAs("Infected", { ...archive, contentType, bytes }));
}

// --- Sizes. ---

Deno.test("a file of the maximum size becomes Available; one byte more or an empty file gets no URL", async () => {
  const text = utf8("x".repeat(CEILING));
  await endsAs("Available", { bytes: text, profile: "tiny" }, "text/plain");
  const ask = (sizeBytes: number) =>
    actor.post("/api/v1/files", { profile: "tiny", fileName: "a", contentType: "text/plain", sizeBytes });
  const over = await ask(CEILING + 1);
  assert.deepEqual([over.status, over.body.code], [422, "FILE_TOO_LARGE_UNPROCESSABLE"]);
  assert.match(over.body.detail, new RegExp(String(CEILING)));
  const empty = await ask(0);
  assert.deepEqual([empty.status, empty.body.code], [400, "VALIDATION_ERROR"]);
  const reservation = await files.reserve(actor, { bytes: text, profile: "tiny" });
  assert.equal(await files.put(reservation, join(text, utf8("x"))), 403, "storage takes no byte more");
  assert.equal(await files.put(reservation, new Uint8Array()), 403);
});

// --- URLs used again. ---

Deno.test("other bytes of the same size, uploaded at any time after confirmation, are never served", async () => {
  const { scanner } = t.steward.platform;
  const clean = utf8("clean text");
  const evil = utf8("evil text!");
  const reservation = await files.reserveAndPut(actor, { bytes: clean, profile: "tiny" });
  const { scan } = scanner;
  let during = 0;
  const putBack = t.replace((p) => p.scanner, {
    scan: async (content, o) => {
      during = await files.put(reservation, evil); // the copy exists already: these bytes are never read
      return await scan.call(scanner, content, o);
    },
  });
  assert.equal((await actor.post(`/api/v1/files/${reservation.fileId}/complete`)).status, 200);
  const record = await files.scanned(actor, reservation.fileId).finally(putBack);
  assert.deepEqual([during, record.status, record.sha256], [200, "Available", sha256(clean)]);
  assert.equal(await files.put(reservation, evil), 200, "after Available");
  const again = await actor.post(`/api/v1/files/${reservation.fileId}/complete`);
  assert.deepEqual([again.status, again.body], [200, record]);
  const { body } = await actor.get(`/api/v1/files/${reservation.fileId}/download-url`);
  assert.deepEqual(await (await fetch(body.url)).bytes(), clean);
});
