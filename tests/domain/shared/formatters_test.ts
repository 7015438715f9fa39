import assert from "node:assert/strict";
import { formatter } from "../../../domain/shared/formatters.ts";

const digits = (maximumFractionDigits: number, locale = "en") =>
  formatter(Intl.NumberFormat, locale, { maximumFractionDigits });

Deno.test("a formatter is made once for a class, a locale and options", () => {
  assert.equal(digits(1), digits(1));
  assert.equal(digits(1).format(0.25), "0.3");
  assert.equal(digits(2).format(0.25), "0.25");
  assert.equal(digits(2, "pt-BR").format(0.25), "0,25");
  assert.equal(formatter(Intl.ListFormat, "en", {}).format(["a", "b"]), "a and b");
  assert.throws(() => formatter(Intl.DateTimeFormat, "en", { timeZone: "Nowhere/Here" }), RangeError);
});

Deno.test("the oldest formatter makes room for a new one", () => {
  const first = digits(3);
  const languages = "en pt de fr es it nl sv da fi pl cs ro hu tr el ru uk ja ko zh ar he hi th vi id".split(
    " ",
  );
  for (const locale of languages) for (let n = 0; n <= 20; n++) digits(n, locale);
  assert.notEqual(digits(3), first);
  assert.equal(digits(20, "id"), digits(20, "id"));
});
