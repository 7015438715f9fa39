/** A text for users: one for all languages, or one per language, such as `{ en: "Invoices", pt: "Faturas" }`. */
export type Label = string | Record<string, string>;

/** The label in a language; if it is missing, in English; if that is missing too, in its first language. */
export const labelIn = (label: Label, language: string): string =>
  typeof label === "string" ? label : label[language] ?? label.en ?? Object.values(label)[0] ?? "";

/** A name as words with a capital: `dueDate` becomes `Due date`. A code in capitals, such as `DE`, stays as it is. */
export function nameInWords(name: string): string {
  if (!/[a-z]/.test(name)) return name;
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
