import { parseAccept } from "hono/utils/accept";

/** Escapes text for HTML. */
export const escapeHtml = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The supported language that Accept-Language prefers; English by default. */
export function languageOf(acceptLanguage: string | null): "en" | "pt" {
  const accepted = parseAccept(acceptLanguage ?? "");
  const weightOf = (language: string) =>
    Math.max(
      0,
      ...accepted.filter(({ type }) => type.toLowerCase().split("-")[0] === language).map(({ q }) => q),
    );
  return weightOf("pt") > weightOf("en") ? "pt" : "en";
}
