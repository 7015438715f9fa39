import { z } from "zod";
import { spelledAs } from "../shared/shapes.ts";
import type { Label } from "./labels.ts";

/** One member of a record: its shape in requests and answers, and its use in lists and in the console. */
export interface Member {
  /** A default is the value of a new record whose creator leaves it out. */
  shape: z.ZodType;
  /** Its name in the console; absent: derived from the name of the member. */
  label?: Label;
  /** A text below its input. */
  hint?: Label;
  /** `once`: callers set it at creation only. `never`: only the service sets it. Absent: callers also change it. */
  set?: "once" | "never";
  /** Makes it a value of `sortBy`. true: sorts by its column. A text: sorts by this SQL expression, such as that of an index. */
  sort?: true | string;
  /** Makes it a parameter of the list, which then shows the rows with this value. For a boolean, choice, date or reference. */
  filter?: true;
  /** Names of the values of a boolean or choice in the console. */
  values?: Record<string, ValueLabel>;
  /** How the console shows the value. `code`: with characters of equal width. `link` and `mail`: as a link. */
  format?: "code" | "link" | "mail" | ValueFormat;
}

/**
 * How the console shows a number in the viewer's language. A `percent` of 19 is 19%, `bytes` are a size, a `duration` is in
 * milliseconds. `currency` is a code such as EUR, or the member that holds it.
 */
export type ValueFormat = "number" | "percent" | "bytes" | "duration" | { currency: string };

export interface ValueLabel {
  label: Label;
  /** The colour behind the label. */
  tone?: "ok" | "warn" | "bad" | "idle";
}

export type Members = Record<string, Member>;

/** The member that switches a record on and off. */
export const activeMember = {
  shape: z.boolean().default(true),
  label: { en: "Active", pt: "Ativa" },
  filter: true,
  values: {
    true: { label: { en: "Active", pt: "Ativa" }, tone: "ok" },
    false: { label: { en: "Inactive", pt: "Inativa" }, tone: "idle" },
  },
} as const satisfies Member;

/** How a member is stored, shown and entered. `json` is for everything without a form of its own. */
export type Kind =
  | "text"
  | "long text"
  | "number"
  | "boolean"
  | "choice"
  | "date"
  | "time"
  | "reference"
  | "json";

/** A member with the properties derived from its shape. */
export interface RecordMember extends Member {
  name: string;
  column: string;
  kind: Kind;
  isNullable: boolean;
  /** True if it must be given at creation. */
  isRequired: boolean;
  /** The values of a choice. */
  choices: readonly string[];
  /** The record that a reference names, by its plural; null for other kinds. */
  refersTo: string | null;
}

/** Longer texts are entered in several lines. */
const LONG_TEXT = 300;
const REFERENCES = z.registry<{ to: string }>();

/**
 * The id of another record of the tenant. An id that the tenant does not have, or whose record is deleted, is answered as
 * 400 at this member. The column needs a foreign key with the tenant; the service checks at its start that there is one.
 * @param to the plural of the record, such as "vendors"
 */
export const reference = (to: string) =>
  z.guid({ error: "expected a UUID" }).toLowerCase().register(REFERENCES, { to });

export const columnOf = (member: string): string =>
  member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const memberOf = (column: string): string =>
  column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The shape inside all nullable, optional and default wrappers. */
export function coreOf(shape: z.ZodType): z.ZodType {
  const isWrapped = shape instanceof z.ZodNullable || shape instanceof z.ZodOptional ||
    shape instanceof z.ZodDefault;
  return isWrapped ? coreOf(shape.unwrap() as z.ZodType) : shape;
}

/** The shape of the member in answers and changes: without its default. */
export const answerShape = (shape: z.ZodType): z.ZodType =>
  shape instanceof z.ZodDefault ? shape.unwrap() as z.ZodType : shape;

/**
 * The shape in requests: names of an enumeration in any case, and no dates and times of the year 0, which the database does
 * not store.
 */
export function givenShape(shape: z.ZodType): z.ZodType {
  if (shape instanceof z.ZodDefault) {
    return givenShape(shape.unwrap() as z.ZodType).default(shape.def.defaultValue);
  }
  if (shape instanceof z.ZodNullable) return givenShape(shape.unwrap() as z.ZodType).nullable();
  if (shape instanceof z.ZodEnum) return z.preprocess(spelledAs(shape.options), shape);
  if (!(shape instanceof z.ZodISODate) && !(shape instanceof z.ZodISODateTime)) return shape;
  return shape.refine((value) => typeof value !== "string" || !value.startsWith("0000"), {
    error: "expected a date of the years 1 to 9999",
  });
}

/** The reason why a record cannot show one of its members in its format; null if it can. */
export function formatMistake({ kind, format }: RecordMember, names: readonly string[]): string | null {
  if (format === undefined || format === "code") return null;
  const isLink = format === "link" || format === "mail";
  const fits = kind === "text" || kind === (isLink ? "long text" : "number");
  if (!fits) return `a ${kind} has no format ${JSON.stringify(format)}`;
  if (typeof format === "string" || CURRENCY.test(format.currency)) return null;
  return names.includes(format.currency)
    ? null
    : `its currency ${format.currency} is neither a code nor a member`;
}

/** The code of a currency in ISO 4217. */
export const CURRENCY = /^[A-Z]{3}$/;

export function describeMember(name: string, member: Member): RecordMember {
  const core = coreOf(member.shape);
  return {
    ...member,
    name,
    column: columnOf(name),
    kind: kindOf(core),
    isNullable: member.shape.safeParse(null).success,
    isRequired: !member.shape.safeParse(undefined).success,
    choices: core instanceof z.ZodEnum ? core.options.map(String) : [],
    refersTo: REFERENCES.get(core)?.to ?? null,
  };
}

function kindOf(core: z.ZodType): Kind {
  if (REFERENCES.has(core)) return "reference";
  if (core instanceof z.ZodEnum) return "choice";
  if (core instanceof z.ZodBoolean) return "boolean";
  if (core instanceof z.ZodNumber) return "number";
  if (core instanceof z.ZodISODate) return "date";
  if (core instanceof z.ZodISODateTime) return "time";
  if (core instanceof z.ZodString) return (core.maxLength ?? 0) > LONG_TEXT ? "long text" : "text";
  return core instanceof z.ZodStringFormat ? "text" : "json";
}

/** The shape of the parameter that filters by a member. */
export function filterShape({ name, kind, shape }: RecordMember): z.ZodType {
  switch (kind) {
    case "boolean":
      return z.stringbool({ truthy: ["true"], falsy: ["false"] }).optional();
    case "choice":
    case "date":
    case "reference":
      return givenShape(coreOf(shape)).optional();
    default:
      throw new Error(`the member ${name} cannot be filtered: a ${kind} has too many values`);
  }
}
