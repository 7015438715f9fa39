/** The supported language that Accept-Language prefers; English by default. */
export function languageOf(acceptLanguage: string | null): "en" | "pt" {
  const preferred = (acceptLanguage ?? "").split(",").map((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
    return { language: tag.split("-")[0], weight: weight === undefined ? 1 : Number(weight) };
  });
  const weightOf = (language: string) =>
    Math.max(0, ...preferred.filter((l) => l.language === language).map((l) => l.weight || 0));
  return weightOf("pt") > weightOf("en") ? "pt" : "en";
}
