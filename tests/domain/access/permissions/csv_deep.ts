import assert from "node:assert/strict";
import { readCsv } from "../../../../domain/access/permissions/csv.ts";

Deno.test("no text of two megabytes takes many times as long as one of short lines", () => {
  const megabytes = (unit: string) => unit.repeat(Math.ceil(2_000_000 / unit.length));
  const once = (text: string) => {
    const started = performance.now();
    readCsv(text, 50_002);
    return performance.now() - started;
  };
  const timeOf = (text: string) => Math.min(once(text), once(text), once(text)); // the others may pause or compile
  const usual = megabytes("code,name\n");
  const most = 40 * Math.max(10, timeOf(usual));
  const hostile = [
    megabytes("\n"),
    megabytes(","),
    megabytes('"'),
    megabytes('""'),
    megabytes('a,"b\n'),
    megabytes('a,b"c\n'),
    megabytes('"a"b\n'),
    megabytes(`a,"b\n${"x".repeat(100_000)}\n`),
    megabytes(`${"a,".repeat(100_000)}b"c\n`),
    megabytes('"","\n'),
    megabytes('"\n","\n'),
    megabytes('"x""\n'),
    megabytes('"""\n""\n'),
    megabytes('","\n') + '"x',
  ];
  for (const text of hostile) {
    const milliseconds = timeOf(text);
    assert.ok(milliseconds < most, `${milliseconds} of ${most} ms for ${JSON.stringify(text.slice(0, 20))}`);
  }
});
