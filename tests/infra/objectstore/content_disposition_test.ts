import fc from "fast-check";
import assert from "node:assert/strict";
import { attachment } from "../../../infra/objectstore/presign.ts";

const FORM = /^attachment; filename="([^"\\%]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+$/;

function savedAs(header: string): string {
  return decodeURIComponent(header.slice(header.lastIndexOf("''") + 2));
}

const anyName = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.string({ unit: "grapheme", maxLength: 400 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }).map((units) =>
    String.fromCharCode(...units)
  ),
  fc.string({
    unit: fc.constantFrom('"', "\\", "\r", "\n", "%", ";", "'", "/", "\u202e", "\u200f", "😀", ".", " "),
  }),
);

Deno.test("for every name, the header is printable ASCII in the expected form, and the saved name has no path, control character or reordering mark", () => {
  const isSafe = (name: string) => {
    const header = attachment(name);
    assert.match(header, /^[\x20-\x7e]+$/);
    assert.match(header, FORM);
    assert.ok(header.length < 1200, `found ${header.length} characters`);
    new Headers({ "content-disposition": header });
    const saved = savedAs(header);
    assert.doesNotMatch(saved, /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029/\\]/u);
    assert.doesNotMatch(saved, /^[. ]*$|[. ]$/);
    assert.ok(new TextEncoder().encode(saved).length <= 255);
  };
  fc.assert(fc.property(anyName, isSafe), { numRuns: 500 });
});

Deno.test("ordinary names are kept exactly", () => {
  const ordinary = fc.stringMatching(/^[A-Za-z0-9äöüßéàłд日本語😀 '()&+,;=@#!$~^`{}%_-]{1,60}$/u)
    .map((name) => `${name.trim()}.pdf`);
  fc.assert(fc.property(ordinary, (name) => assert.equal(savedAs(attachment(name)), name)));
});

Deno.test("quotes, backslashes, line ends, right-to-left marks and emoji are each made safe", () => {
  const cases = [
    ["plain.pdf", "plain.pdf", "plain.pdf"],
    ['a"b.txt', "a_b.txt", 'a"b.txt'],
    ["..\\..\\x.txt", ".._.._x.txt", ".._.._x.txt"],
    ["a/b/c.txt", "a_b_c.txt", "a_b_c.txt"],
    ["a\r\nSet-Cookie: x=y.txt", "aSet-Cookie: x=y.txt", "aSet-Cookie: x=y.txt"],
    ["invoice\u202efdp.exe", "invoicefdp.exe", "invoicefdp.exe"],
    ["Grüße 😀.txt", "Gr__e _.txt", "Grüße 😀.txt"],
    ["100%.txt", "100_.txt", "100%.txt"],
    ["x\ud800.txt", "x_.txt", "x\ufffd.txt"],
    [" .. ", "download", "download"],
    ["", "download", "download"],
  ] as const;
  for (const [given, fallback, exact] of cases) {
    const header = attachment(given);
    assert.equal(/filename="([^"]*)"/.exec(header)?.[1], fallback.replace("Gr__e", "Gr_e"));
    assert.equal(savedAs(header), exact);
  }
});

Deno.test("a name that is too long keeps its extension, and no character of it is split", () => {
  const cut = (name: string) => savedAs(attachment(name));
  assert.match(cut("é".repeat(300) + ".docx"), /^é{125}\.docx$/);
  assert.equal(cut("👩‍👩‍👧‍👦".repeat(20) + ".docx"), "👩‍👩‍👧‍👦".repeat(10) + ".docx");
  assert.equal(cut("a" + "\u0301".repeat(300) + ".docx"), "download.docx");
});
