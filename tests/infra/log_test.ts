import assert from "node:assert/strict";
import { createLog } from "../../infra/log.ts";

function logged(fields: Record<string, unknown>, message = "m"): string {
  const lines: string[] = [];
  createLog("debug", (line) => lines.push(line)).info(message, fields);
  return lines.join("");
}

Deno.test("a line is one JSON document with time, level, message and fields", () => {
  const line = JSON.parse(logged({ route: "/x", status: 200 }));
  assert.equal(line.level, "info");
  assert.equal(line.route, "/x");
});

Deno.test("no field replaces the time, level or message of its line", () => {
  const line = JSON.parse(logged({ time: "never", level: "loud", message: { text: "b" } }));
  assert.deepEqual([line.level, line.message, Date.parse(line.time) > 0], ["info", "m", true]);
});

Deno.test("secrets are redacted by field name, at any depth", () => {
  const line = logged({
    password: "p1",
    nested: { refreshToken: "p2", list: [{ apiKey: "p3", objectKey: "p4" }] },
  });
  assert.doesNotMatch(line, /p1|p2|p3|p4/);
});

Deno.test("tokens, signed query values and URL passwords are redacted in every text, including errors and causes", () => {
  const error = new Error("GET https://u:hunter2@h/x?X-Amz-Signature=abc123&X-Amz-Credential=AKIA failed", {
    cause: new Error("Bearer abc.def.ghi"),
  });
  const line = logged({ error }, "postgres://steward:hunter3@h/d refused eyJhbGciOi.eyJzdWIi.c2ln");
  assert.doesNotMatch(line, /hunter2|hunter3|abc123|AKIA|abc\.def|eyJhbGciOi/);
});

Deno.test("a token is redacted wherever it begins in a word", () => {
  const line = logged(
    {},
    "x-eyJhbGciOi.eyJzdWIi.c2ln eyJhbGciOi-eyJx.eyJzdWIi.c2ln a.eyJhbGciOi.eyJzdWIi.c2ln",
  );
  assert.equal(JSON.parse(line).message, "x-[redacted] [redacted] a.[redacted]");
});

Deno.test("long texts are searched in linear time", () => {
  for (const piece of ["a.", "a-", "eyJ-", "://a:"]) { // quadratic work would take hours
    const message = piece.repeat(2 ** 20);
    assert.equal(JSON.parse(logged({}, message)).message, message);
  }
});

Deno.test("lines below the level are not written", () => {
  const lines: string[] = [];
  createLog("error", (line) => lines.push(line)).warn("quiet");
  assert.deepEqual(lines, []);
});

Deno.test("circular causes are cut off", () => {
  const [one, two] = [new Error("one"), new Error("two")];
  one.cause = two;
  two.cause = one;
  assert.match(logged({ error: one }), /\[deep\]/);
});
