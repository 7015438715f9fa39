import assert from "node:assert/strict";
import { cutText, storableText } from "../../../domain/shared/cut_text.ts";

Deno.test("a text is cut between characters, never inside one", () => {
  const cases = [["abc", 3, "abc"], ["abcd", 3, "abc"], ["ab👍🏽", 3, "ab"], ["ab👍🏽", 5, "ab"], [
    "ae\u0301b",
    2,
    "a",
  ]] as const;
  for (const [text, max, expected] of cases) assert.equal(cutText(text, max), expected);
  assert.equal(cutText(`${"x".repeat(500)}👨‍👩‍👧‍👦`, 505), "x".repeat(500));
  assert.equal(
    cutText(`a${"🇵🇹".repeat(200)}`, 303),
    `a${"🇵🇹".repeat(75)}`,
    "flags are pairs from the first one on",
  );
  assert.equal(
    cutText(`a${"\u0301".repeat(5_000)}`, 300).length,
    300,
    "a character that is longer than the text may be",
  );
});

Deno.test("a text is stored without what Postgres refuses", () => {
  assert.equal(storableText("a\0b\ud800c"), "ab\ufffdc");
  assert.equal(storableText("a\0b", 2), "a");
});
