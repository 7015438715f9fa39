// Turns queries of the driver into text and parameters, so that the simulator can read and change the text.

/** A statement as it is sent. */
export interface Statement {
  text: string;
  parameters: unknown[];
}

/** What the driver keeps of a query that was not sent. */
interface QueryParts {
  strings: readonly string[];
  args: unknown[];
  tagged: boolean;
}

/** The text of a query with its fragments, in the form `$1`. */
export function compile(query: unknown): Statement {
  const { strings, args, tagged } = query as QueryParts;
  const parameters: unknown[] = [];
  if (!tagged) return { text: strings.join(""), parameters: args };
  return { text: textOf({ strings, args, tagged }, parameters), parameters };
}

function textOf({ strings, args }: QueryParts, parameters: unknown[]): string {
  let text = strings[0] ?? "";
  for (let n = 1; n < strings.length; n++) text += valueText(args[n - 1], parameters) + strings[n];
  return text;
}

function valueText(value: unknown, parameters: unknown[]): string {
  if (isQuery(value)) return textOf(value, parameters);
  if (Array.isArray(value) && isQuery(value[0])) {
    return value.map((part) => textOf(part, parameters)).join(" ");
  }
  const kind = (value as object | null)?.constructor?.name;
  if (kind === "Identifier") return (value as { value: string }).value;
  if (kind === "Builder") throw new Error("the simulator cannot read a builder of the driver");
  return `$${parameters.push(value)}`;
}

const isQuery = (value: unknown): value is QueryParts =>
  typeof value === "object" && value !== null && "strings" in value && "args" in value;

/** True if the statement may write. */
export const mayWrite = (text: string): boolean =>
  /\b(insert|update|delete)\b/i.test(text.replaceAll(/for (no key )?update/g, ""));

/** The text on one line, without what differs between runs. */
export const shortText = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 110);
