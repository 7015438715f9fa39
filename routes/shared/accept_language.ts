/** The language of ours the reader likes best; English where none of them is named. */
export function languageOf(acceptLanguage: string | null): "en" | "pt" {
  const liked = (acceptLanguage ?? "").split(",").map((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
    return { language: tag.split("-")[0], weight: weight === undefined ? 1 : Number(weight) };
  });
  const weightOf = (language: string) =>
    Math.max(0, ...liked.filter((l) => l.language === language).map((l) => l.weight || 0));
  return weightOf("pt") > weightOf("en") ? "pt" : "en";
}
