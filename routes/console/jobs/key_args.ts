import { MARK } from "../../../domain/jobs/searchable_args.ts";
import { cutText } from "../../../domain/shared/cut_text.ts";
import { isExactNumber } from "../../../domain/shared/exact_json.ts";
import { jsonIn } from "../shared/json.ts";

const SHOWN = 2;
const VALUE_LENGTH = 40;

/**
 * The arguments that tell jobs of a type apart, such as "invoiceId: 4711": those that the type marks as searchable, else
 * the first plain ones.
 */
export function keyArgs(serializedArgs: string, schema: Record<string, unknown> | undefined): string {
  const args = jsonIn(serializedArgs);
  if (typeof args !== "object" || args === null || Array.isArray(args)) return "";
  const mark = schema?.[MARK];
  const paths = Array.isArray(mark) && mark.length > 0 ? mark.map(String) : Object.keys(args);
  return paths.flatMap((path) => {
    const value = path.split(".").reduce<unknown>(memberOf, args);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return isPlain(value) ? [`${path}: ${shortened(text)}`] : [];
  }).slice(0, SHOWN).join(" · ");
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const isPlain = (value: unknown): boolean =>
  isExactNumber(value) || ["string", "number", "boolean"].includes(typeof value) && value !== "";

const shortened = (text: string): string =>
  text.length > VALUE_LENGTH ? `${cutText(text, VALUE_LENGTH)}…` : text;
