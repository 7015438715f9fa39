import { z } from "zod";

/** Texts of the function `t`, by language and key. */
export const templateTexts = z.record(
  z.string().regex(/^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}$/, "expected a language tag such as pt-BR"),
  z.record(z.string().min(1).max(100), z.string().max(5_000)).refine(
    (texts) => Object.keys(texts).length <= 500,
    "expected at most 500 texts",
  ),
).refine((languages) => Object.keys(languages).length <= 30, "expected at most 30 languages").meta({
  description: "Texts of the function `t`, by language and key",
  example: { en: { greeting: "Hello {name}" }, pt: { greeting: "Olá {name}" } },
});
