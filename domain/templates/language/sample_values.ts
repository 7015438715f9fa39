/** The use of a value in a template: formatted as a date or number, or tested as a condition. */
export type Usage = "date" | "number" | "truth";

const BY_NAME: [name: RegExp, value: (name: string) => unknown][] = [
  [/^(is|has|can|should)[A-Z_]/, () => true],
  [
    /(url|link|href)$/i,
    (name) => `https://example.com/${name.replace(/(url|link|href)$/i, "").toLowerCase() || "page"}`,
  ],
  [/e-?mail$|address$/i, (name) => /street|postal/i.test(name) ? "1 Example Street" : "maria@example.com"],
  [/phone|mobile/i, () => "+351912345678"],
  [/^(first|given)_?name$/i, () => "Maria"],
  [/^(last|family)_?name$/i, () => "Silva"],
  [/^(user|customer|full|display)?_?name$/i, () => "Maria Silva"],
  [/(company|tenant|organi[sz]ation)_?(name)?$/i, () => "Northwind"],
  [/(date|day|At|Until|On|deadline)$/, () => "2026-03-14T09:30:00Z"],
  [/^(date|when|at|since|until)$/i, () => "2026-03-14T09:30:00Z"],
  [/time_?zone/i, () => "Europe/Lisbon"],
  [/currency/i, () => "EUR"],
  [/(amount|total|price|sum|cost|balance)$/i, () => 1234.5],
  [/(count|quantity|number|minutes|hours|days|seconds|percent|age|items?Left)$/i, () => 3],
  [/locale|language/i, () => "en"],
  [/id$/i, () => "A-1042"],
  [/code$/i, () => "481516"],
];

/** A fitting value for a variable that a template only writes, by its name and by what the template does with it. */
export function sampleValue(name: string, usages: ReadonlySet<Usage>): unknown {
  if (usages.has("date")) return "2026-03-14T09:30:00Z";
  const [, found] = BY_NAME.find(([pattern]) => pattern.test(name)) ?? [];
  const value = found?.(name);
  if (usages.has("number")) return typeof value === "number" ? value : 3;
  if (value !== undefined) return value;
  return usages.has("truth") ? true : `Sample ${name}`;
}
