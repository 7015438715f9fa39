import assert from "node:assert/strict";
import { formatter } from "../../../domain/shared/formatters.ts";

Deno.test("a formatter is made once for a class, a locale and options, and the oldest makes room for a new one", () => {
  const digits = (maximumFractionDigits: number, locale = "en") =>
    formatter(Intl.NumberFormat, locale, { maximumFractionDigits });
  const first = digits(3);
  assert.equal(digits(3), first);
  assert.deepEqual([digits(1).format(0.25), digits(2, "pt-BR").format(0.25)], ["0.3", "0,25"]);
  const languages = "pt de fr es it nl sv da fi pl cs ro hu tr el ru uk ja ko zh ar he hi th vi".split(" ");
  for (const locale of languages) for (let n = 0; n <= 20; n++) digits(n, locale);
  assert.notEqual(digits(3), first);
  assert.equal(digits(20, "vi"), digits(20, "vi"));
});
