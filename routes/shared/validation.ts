import { z } from "zod";
import type { FieldErrors } from "../../domain/problems/problem.ts";
import { enumName, instant, uuid } from "../../domain/shared/shapes.ts";
import { shapeOf } from "./body_members.ts";

/**
 * The messages of a failed parse of `value` by dotted field name; `body` for the whole value. A repeated parameter of a
 * query has the message of the repetition, unless it takes a list.
 */
export function fieldErrors(schema: z.ZodType, value: unknown, error: z.ZodError): FieldErrors {
  const errors: FieldErrors = {};
  for (const issue of error.issues) {
    const field = issue.path.map(String).join(".") || "body";
    (errors[field] ??= []).push(issue.message);
  }
  for (const field of Object.keys(errors)) {
    const given = (value as Record<string, unknown> | null | undefined)?.[field];
    if (given instanceof RepeatedValues && !isList(schema, field)) {
      errors[field] = [`given ${given.length} times; expected one value`];
    }
  }
  return errors;
}

const isList = (schema: z.ZodType, member: string): boolean =>
  shapeOf(schema)?.members?.get(member)?.shape?.elements !== undefined;

/** The values of a repeated parameter of a query. The class tells them apart from a list in a body. */
class RepeatedValues extends Array<string> {}

/** Some of `names` in a query, case-insensitive: repeated parameters or comma-separated. */
export const queryNames = <const N extends readonly [string, ...string[]]>(names: N) =>
  z.preprocess(
    (value) => typeof value === "string" || Array.isArray(value) ? splitValues(value) : value,
    z.array(enumName(names)),
  )
    .meta({ type: "array", items: { type: "string", enum: names } });

/** An integer in a query. Only digits: `1e3` and blanks are refused. */
export const queryInteger = (min: number, max: number) =>
  z.string().regex(/^-?\d{1,15}$/, "expected an integer").transform(Number).pipe(
    z.number().int().min(min).max(max),
  ).meta({ type: "integer", minimum: min, maximum: max });

/** `true` or `false`, case-insensitive. */
export const queryBoolean = z.string().toLowerCase().pipe(
  z.enum(["true", "false"], { error: "expected true or false" }),
)
  .transform((value) => value === "true").meta({ type: "boolean" });

const OFFSET_AFTER_SPACE = /^(\S+T\S+) (\d\d:\d\d)$/;

/** An `instant` in a query. A `+` that is not percent-encoded arrives as a space: `12:00 02:00` means `12:00+02:00`. */
export const queryInstant = z.preprocess(
  (value) => typeof value === "string" ? value.replace(OFFSET_AFTER_SPACE, "$1+$2") : value,
  instant,
);

/** At most `max` UUIDs in a query: repeated parameters or comma-separated. Duplicates are removed. */
export const queryIds = (max: number) =>
  z.union([z.string(), z.array(z.string())])
    .transform((value) => splitValues(value))
    .pipe(z.array(uuid).max(max, `expected at most ${max} ids`))
    .meta({ type: "array", items: { type: "string", format: "uuid" }, maxItems: max });

/** The different values of a repeated or comma-separated parameter. */
const splitValues = (value: string | string[]): string[] => [
  ...new Set([value].flat().flatMap((part) => part.split(",")).filter((part) => part !== "")),
];

/** The query of a request as an object: empty values are absent, repeated names become arrays. */
export function queryValues(search: URLSearchParams): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = {};
  for (const [name, value] of search) {
    if (value === "") continue;
    const before = Object.hasOwn(values, name) ? values[name] : undefined;
    if (Array.isArray(before)) before.push(value);
    else values[name] = before === undefined ? value : RepeatedValues.of(before, value);
  }
  return values;
}

/** The largest page number, so that offsets are exact integers. */
export const LAST_PAGE = 2_147_483_647;

/** The shape of a page with items of shape `item`. */
export const pagedResultOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    totalCount: z.int(),
    pageNumber: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
  });

/** `page` and `pageSize`, with the maximum and the default page size. */
export const pageQuery = (maxPageSize = 100, usual = Math.min(20, maxPageSize)) => ({
  page: queryInteger(1, LAST_PAGE).default(1),
  pageSize: queryInteger(1, maxPageSize).default(usual),
});

const sortDirection = enumName(["Ascending", "Descending"]);

/** The common list parameters. `sortBy` accepts the names in `sortable`. */
export const listQuery = <const N extends readonly [string, ...string[]]>(sortable: N) => ({
  ...pageQuery(),
  sortBy: enumName(sortable).optional(),
  sortDirection: sortDirection.default("Ascending"),
  search: z.string().max(200).optional(),
  includeDeleted: queryBoolean.default(false),
});
