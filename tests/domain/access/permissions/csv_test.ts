import assert from "node:assert/strict";
import { readCsv } from "../../../../domain/access/permissions/csv.ts";

const fields = (text: string) => readCsv(text, 100).map((record) => record.fault ?? record.fields);

Deno.test("fields keep their text; quoted ones lose their quotes", () => {
  assert.deepEqual(fields("a, b ,\n"), [["a", " b ", ""]]);
  assert.deepEqual(fields('"a","b""c""","",d'), [["a", 'b"c"', "", "d"]]);
  assert.deepEqual(fields('"two\r\nlines,\n\none field",x'), [["two\r\nlines,\n\none field", "x"]]);
  assert.deepEqual(fields(""), []);
  assert.deepEqual(fields(","), [["", ""]]);
  assert.deepEqual(fields('""'), [[""]]);
});

Deno.test("lines may end with CR, LF or CRLF; empty ones are skipped", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    assert.deepEqual(fields(["", "a,b", "", "c,d", "", ""].join(end)), [["a", "b"], ["c", "d"]]);
  }
  assert.deepEqual(fields("a\nb\r\nc\rd"), [["a"], ["b"], ["c"], ["d"]]);
});

Deno.test("a misplaced quote makes only its own line invalid", () => {
  const [closing, inside, unclosed] = [
    /text after a closing quote/,
    /quote inside an unquoted field/,
    /no closing quote/,
  ];
  const read = (text: string) => readCsv(text, 100).map((record) => record.fault ?? record.fields.join("|"));
  const cases: [string, (string | RegExp)[]][] = [
    ['"a"x,b\nc,d', [closing, "c|d"]],
    ['"a" ,b\nc', [closing, "c"]],
    ['"two\nlines"x\nc', [closing, inside, "c"]],
    ['a"b,c\nd', [inside, "d"]],
    ['a,"b\nc,d\n', [unclosed, "c|d"]],
    ['a,"', [unclosed]],
  ];
  for (const [text, expected] of cases) {
    const found = read(text);
    assert.equal(found.length, expected.length, text);
    expected.forEach((one, n) =>
      typeof one === "string" ? assert.equal(found[n], one) : assert.match(found[n] ?? "", one)
    );
  }
});
