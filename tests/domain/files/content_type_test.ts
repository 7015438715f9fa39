import fc from "fast-check";
import assert from "node:assert/strict";
import { ContentProbe, detectContentType } from "../../../domain/files/content_type.ts";
import { TextProbe } from "../../../domain/files/text_probe.ts";
import { noise } from "../../support/content.ts";
import * as sample from "../../support/samples.ts";

const { join, utf8, zip, officeParts } = sample;
const unknown = "application/octet-stream";
const ZIP = "application/zip";
const CFB = "application/x-cfb";
const SVG = "image/svg+xml";
const PPTX = "presentationml.presentation";
const EXE = "application/x-msdownload";
const MACROS = "application/vnd.ms-word.document.macroenabled.12";
const OOXML = "application/vnd.openxmlformats-officedocument.";
const DOCX = `${OOXML}wordprocessingml.document`;
const ODF = "application/vnd.oasis.opendocument.";
const docxParts = officeParts("wordprocessingml.document", "word/document.xml");
const docx = zip(docxParts);
const script = "<script>alert(1)</script>";

/** A docx with another content type, behind `gap`. */
function withType(part: string, type: string, gap = ""): Uint8Array {
  const [[name = "", types] = [], ...others] = docxParts;
  const end = `${gap}<Override PartName="${part}" ContentType="application/vnd.${type}"/></Types>`;
  return zip([[name, String(types).replace("</Types>", end)], ...others]);
}
/** A package of this main type, with these parts. */
const ofMainType = (type: string, ...parts: sample.ZipPart[]) =>
  zip([["[Content_Types].xml", `<x ContentType="${type}.main+xml"/>`], ["_rels/.rels", "x"], ...parts]);
function withEndInComment(): Uint8Array {
  const end = zip([["evil.js", "x"]]).slice(-22).with(-2, 10);
  return join(docx.with(-2, 31), end, utf8("and on..."));
}
/** A docx with a zip64 directory whose locator gives this offset for the end record. */
function zip64LocatedAt(offset: bigint): Uint8Array {
  const content = zip(docxParts, { zip64: true });
  new DataView(content.buffer, content.byteOffset).setBigUint64(content.length - 22 - 12, offset, true);
  return content;
}

/** A compound file of more than 7 MB whose directory begins in this sector; further lists name the sectors of its table. */
function withDirectoryAt(sector: number): Uint8Array {
  const small = sample.compoundFile(["1Table", "a", "b", "c", "d", "WordDocument"]);
  const large = new Uint8Array((sector + 3) * 512);
  large.set(small.subarray(0, 512));
  large.set(small.subarray(1024), (sector + 1) * 512);
  const view = new DataView(large.buffer);
  view.setUint32(48, sector, true);
  view.setUint32(68, 0, true); // the first list is in sector 0, the next one in sector 1
  view.setUint32(512 + 508, 1, true);
  const [table, list] = [Math.floor(sector / 128) - 109, 127];
  view.setUint32(512 * (1 + Math.floor(table / list)) + 4 * (table % list), 2, true);
  view.setUint32(512 * 3 + 4 * (sector % 128), sector + 1, true);
  return large;
}

/** The type detected for this content, fed in chunks of the given size. */
async function detect(content: Uint8Array, declared?: string, chunkBytes = 10_000): Promise<string> {
  const probe = new ContentProbe(declared);
  for (let i = 0; i < content.length; i += chunkBytes) probe.feed(content.subarray(i, i + chunkBytes));
  return await detectContentType(probe, (start, end) => {
    const isWithin = start >= 0 && start < end && end <= content.length;
    assert.ok(isWithin, `range ${start}-${end} of ${content.length}`);
    return Promise.resolve(content.slice(start, end));
  });
}

const picture: sample.ZipPart = ["word/media/image1.png", noise(3_000_000)];

type Content = [name: string, type: string, content: Uint8Array];
const genuine: Content[] = [
  ["a pdf", "application/pdf", sample.pdf()],
  ["a pdf with binary in it", "application/pdf", join(sample.pdf(), noise(100))],
  ["a docx", DOCX, docx],
  ["an xlsx", `${OOXML}spreadsheetml.sheet`, zip(officeParts("spreadsheetml.sheet", "xl/workbook.xml"))],
  ["a pptx", `${OOXML}${PPTX}`, zip(officeParts(PPTX, "ppt/a.xml"))],
  ["a docx written to a pipe", DOCX, zip(docxParts, { streamed: true })],
  ["a docx with a zip64 directory", DOCX, zip(docxParts, { zip64: true })],
  ["a docx with its types last", DOCX, zip([picture, ...docxParts.toReversed()], { streamed: true })],
  ["an odt", `${ODF}text`, sample.openDocument("text")],
  ["an ods", `${ODF}spreadsheet`, sample.openDocument("spreadsheet")],
  ["an odp", `${ODF}presentation`, sample.openDocument("presentation")],
  ["a doc", "application/msword", sample.compoundFile(["1Table", "WordDocument", "\x05SummaryInformation"])],
  ["an xls", "application/vnd.ms-excel", sample.compoundFile(["Workbook"])],
  ["an old xls", "application/vnd.ms-excel", sample.compoundFile(["Book"])],
  ["a large doc", "application/msword", withDirectoryAt(14_000)],
  ["a larger doc", "application/msword", withDirectoryAt(14_000 + 127 * 128)],
  ["a ppt", "application/vnd.ms-powerpoint", sample.compoundFile(["a", "b", "PowerPoint Document"])],
  ["a png", "image/png", sample.png()],
  ["an animated png", "image/png", sample.png(["acTL", new Uint8Array(8)])],
  ["a png with a colour profile beyond the head", "image/png", sample.png(["iCCP", noise(100_000)])],
  ["a jpeg", "image/jpeg", sample.jpeg],
  ["a jpeg with a camera's own data behind it", "image/jpeg", join(sample.jpeg, noise(200_000))],
  ["a webp", "image/webp", sample.webp],
  ["a gif", "image/gif", sample.gif],
  ["a zip", ZIP, zip([["a.txt", "hello"], ["b/c.txt", "world"]])],
  ["an empty zip", ZIP, zip([])],
  ["a zip of 3,000 files", ZIP, zip(Array.from({ length: 3000 }, (_, i) => [`${i}.txt`, `${i}`]))],
  ["a gzip", "application/gzip", sample.gzip(utf8("hello"))],
  ["plain text", "text/plain", utf8("Grüße, 世界 👋\n".repeat(5000))],
  ["csv", "text/plain", utf8("id,name\n1,Ana\n")],
  ["csv that begins like a bitmap", "text/plain", utf8("BMI,weight\n21,70\n")],
  ["text that begins like an executable", "text/plain", utf8("MZ is how DOS programs begin.")],
  ["one character", "text/plain", utf8("x")],
  ["markdown that begins with a tag", "text/plain", utf8('<p><img src="a.svg"></p>\n\n# Title\n')],
  ["markdown that begins with a comment", "text/plain", utf8("<!-- generated -->\n# Title\n")],
  ["a report in html", "text/html", utf8("\ufeff\n<!DOCTYPE html>\n<html><body>x</body></html>")],
];

Deno.test("genuine content is detected as its type, however it is split into chunks", async () => {
  for (const [name, type, content] of genuine) {
    assert.equal(await detect(content), type, name);
    const start = content.subarray(0, 5_000);
    assert.equal(await detect(start, undefined, 1), await detect(start), name);
  }
});

const prologue = '<?xml version="1.0"?>\n<!-- made by hand -->\n';
const evil = zip([["evil.js", "x"]]);
const disguised: Content[] = [
  ["a Windows program", EXE, join(utf8("MZ"), Uint8Array.of(0x90, 0, 3, 0, 0, 0), noise(500))],
  ["an ELF program", "application/x-elf", join(utf8("\x7fELF\x02\x01\x01"), noise(2000))],
  ["a shell script", "text/plain", utf8("#!/bin/sh\nrm -rf /\n")],
  ["html", "text/html", utf8(`<html>${script}</html>`)],
  ["html behind a comment", "text/html", utf8(`<!-- logo -->\n${script}`)],
  ["html that begins with a fragment", "text/html", utf8(`<p>hello\n${script}`)],
  ["html behind a byte order mark", "text/html", utf8(`\ufeff\n <!doctype html>${script}`)],
  ["html in UTF-16", "text/html", utf16("<!doctype html><p>x")],
  ["svg", SVG, utf8('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
  ["svg behind a prologue", SVG, utf8(`${prologue}<!DOCTYPE svg PUBLIC "a" "x" [<!ENTITY a "b">]>\n<svg/>`)],
  ["xhtml", "application/xhtml+xml", utf8(`${prologue}<html xmlns="http://www.w3.org/1999/xhtml"/>`)],
  ["other xml", "application/xml", utf8(`${prologue}<invoice/>`)],
  ["rtf", "application/rtf", utf8("{\\rtf1\\ansi hello}")],
  ["an all-text gif that is a script", "text/plain", utf8("GIF89a/*....*/=1;alert(1)")],
  ["a gif that is only its first bytes", "text/plain", utf8("GIF89a")],
  ["a gif signature cut short", unknown, join(utf8("GIF"), Uint8Array.of(0, 0, 0, 0))],
  ["a gif with html in it", unknown, join(sample.gif, utf8(`<!doctype html>${script}`))],
  ["a png with a zip behind it", unknown, join(sample.png(), evil)],
  ["a png with a zip whose comment is said to be longer", unknown, join(sample.png(), evil.with(-2, 9))],
  ["a png with a zip whose directory is far away", unknown, join(sample.png(), evil.with(-3, 0x7f))],
  ["a docx with another archive's end in its comment", unknown, withEndInComment()],
  ["a jpeg with a jar behind it", unknown, join(sample.jpeg, zip([["META-INF/MANIFEST.MF", "x"]]))],
  ["a gif with a pdf in its first bytes", unknown, join(sample.gif, sample.pdf())],
  ["a png with a script in a text chunk", unknown, sample.png(["tEXt", utf8("Comment\0<SCRIPT src=//x>")])],
  ["a jpeg with php behind the head", unknown, join(sample.jpeg, noise(100_000), utf8("<?php system(1);"))],
  ["a zip behind the first byte of a gzip", unknown, join(utf8("\x1f"), zip([["a", "x"]]))],
  ["a zip declared as docx", ZIP, zip([["word/document.xml", "<w/>"]])],
  ["a zip with only the content types of a docx", ZIP, zip(docxParts.slice(0, 1))],
  ["a docx with macros", MACROS, zip([...docxParts, ["word/vbaProject.bin", "x"]])],
  ["a docx whose macros have another name", MACROS, withType("/word/x.bin", "ms-office.vbaProject")],
  ["a docx with a macro part", MACROS, withType("/word/y.xml", "ms-word.document.macroEnabled.main+xml")],
  ["a docx whose macros have references", MACROS, withType("/word/x.bin", "ms-office.vbaP&#114;oject")],
  ["a docx whose types go on behind what is read", ZIP, withType("/word/x.bin", "x", " ".repeat(1_100_000))],
  ["a docx with two lists of content types", ZIP, zip([...docxParts, ["[content_types].XML", "x"]])],
  ["a docx whose zip64 locator points elsewhere", unknown, zip64LocatedAt(0n)],
  ["a docx of a type like a member of every object", ZIP, ofMainType("constructor", ["vbaProject.bin", "x"])],
  ["a docx of a type with a NUL", ZIP, ofMainType(`${OOXML}x\0y`)],
  ["a docx of an endless type", ZIP, ofMainType("x".repeat(1000))],
  ["a jar", "application/java-archive", zip([["META-INF/MANIFEST.MF", "Main-Class: A"], ["A.class", "x"]])],
  ["a zip that calls itself odt", ZIP, zip([["mimetype", `${ODF}text`], ["a.exe", "MZ"]])],
  ["a zip cut short", unknown, docx.subarray(0, docx.length - 10)],
  ["a zip whose directory is elsewhere", unknown, join(docx.subarray(0, 300), docx)],
  ["an installer or another compound file", CFB, sample.compoundFile(["SummaryInformation"])],
  ["a mail with a Word document in it", CFB, sample.compoundFile(["__properties"], ["WordDocument"])],
  ["a compound file with a name like a member of every object", CFB, sample.compoundFile(["constructor"])],
  ["a compound file that is two things", CFB, sample.compoundFile(["WordDocument", "Workbook"])],
  ["a compound file cut short", CFB, sample.compoundFile(["WordDocument"]).subarray(0, 600)],
  ["text with a NUL at its end", unknown, join(utf8("a".repeat(300_000)), Uint8Array.of(0))],
  ["text that ends within a character", unknown, join(utf8("a".repeat(300_000)), Uint8Array.of(0xe2, 0x82))],
  ["one byte of a png", unknown, Uint8Array.of(0x89)],
  ["one NUL", unknown, Uint8Array.of(0)],
  ["noise", unknown, join(Uint8Array.of(0), noise(5000, 7))],
  ["nothing", "application/x-empty", new Uint8Array(0)],
];

Deno.test("disguised content is detected as what it is, whatever its declared type", async () => {
  for (const [name, type, content] of disguised) {
    for (const declared of ["image/png", DOCX]) {
      assert.equal(await detect(content, declared), type, name);
    }
  }
});

Deno.test("an executable is not detected as any type that a profile allows", async () => {
  const program = new Uint8Array(200_000);
  using file = await Deno.open(Deno.execPath());
  await file.read(program);
  const type = await detect(program, "image/png");
  assert.match(type, /^application\/x-(elf|msdownload|mach-binary)$/);
});

Deno.test("text is what is UTF-8, or what its charset or byte order mark says; no charset makes a binary format text", async () => {
  const latin1 = Uint8Array.from("Grüße aus Köln", (c) => c.charCodeAt(0));
  assert.equal(await detect(latin1), unknown);
  assert.equal(await detect(latin1, "text/csv; charset=ISO-8859-1"), "text/plain");
  assert.equal(await detect(latin1, 'text/csv;charset="windows-1252"'), "text/plain");
  assert.equal(await detect(latin1, "text/csv; charset=no-such-charset"), unknown);
  const jpegHead = Uint8Array.of(0xff, 0xd8, 0xff, 0xe1, 9, 9, 9);
  assert.equal(await detect(jpegHead, "text/plain; charset=latin1"), "image/jpeg");
  assert.equal(await detect(utf16("Grüße 👋"), undefined, 3), "text/plain");
  assert.equal(await detect(utf16("Grüße 👋").subarray(2)), unknown);
  assert.equal(await detect(utf32("Grüße 👋"), undefined, 3), "text/plain");
  assert.equal(await detect(join(utf32("x"), Uint8Array.of(0, 0, 0x11, 0)), undefined, 5), unknown);
  assert.equal(await detect(utf32("Grüße").subarray(0, 10)), unknown);
});

Deno.test("damaged containers cause no error and no read outside the content", async () => {
  const others = [sample.openDocument("text"), sample.compoundFile(["Workbook"])];
  const originals = fc.constantFrom(docx, zip(docxParts, { zip64: true }), ...others);
  const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
  const damages = fc.array(fc.tuple(place, fc.nat(255)), { maxLength: 40 });
  const isDetected = fc.asyncProperty(originals, damages, async (original, damage) => {
    const content = original.slice();
    for (const [where, value] of damage) content[Math.floor(where * content.length)] = value;
    assert.match(await detect(content), /^[a-z]+\/[a-z0-9.+-]+$/);
  });
  await fc.assert(isDetected, { numRuns: 50 });
});

Deno.test("detecting a container reads a few ranges, not the whole content again", async () => {
  const large = zip([picture, ...docxParts]);
  const probe = new ContentProbe();
  probe.feed(large);
  let [requests, bytes] = [0, 0];
  await detectContentType(probe, (start, end) => {
    requests++;
    bytes += Math.min(end, large.length) - start;
    return Promise.resolve(large.slice(start, end));
  });
  assert.ok(requests <= 4 && bytes < 100_000, `${requests} requests, ${bytes} bytes`);
});

function utf16(text: string): Uint8Array {
  const marked = "\ufeff" + text;
  return new Uint8Array(Uint16Array.from({ length: marked.length }, (_, i) => marked.charCodeAt(i)).buffer);
}

function utf32(text: string): Uint8Array {
  return new Uint8Array(Uint32Array.from(["\ufeff", ...text], (c) => c.codePointAt(0) ?? 0).buffer);
}

function isText(content: Uint8Array, chunkBytes: number): boolean {
  const probe = new TextProbe();
  for (let i = 0; i < content.length; i += chunkBytes) probe.feed(content.subarray(i, i + chunkBytes));
  return probe.end() !== null;
}

Deno.test("bytes without a byte order mark are text exactly if they decode as UTF-8 without NUL", () => {
  const pieces = fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.string({ unit: "grapheme" }).map((t) => new TextEncoder().encode(t)),
  );
  fc.assert(fc.property(fc.array(pieces), fc.integer({ min: 1, max: 9 }), (parts, chunk) => {
    const content = Uint8Array.from(parts.flatMap((part) => [...part]));
    const first = content[0] ?? 0;
    fc.pre(first !== 0xff && first !== 0xfe);
    let expected = !content.includes(0);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(content);
    } catch {
      expected = false;
    }
    assert.equal(isText(content, chunk), expected);
  }));
});
