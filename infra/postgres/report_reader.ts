import postgres from "postgres";
import type { Sql } from "./postgres.ts";

/** A single connection that reads rows as Postgres prints them: every value a string, or null. */
export type ReportReader = Sql;

const asPrinted = (value: string) => value;
const printed = (oid: number, ...from: number[]) => ({
  to: oid,
  from: [oid, ...from],
  serialize: (value: unknown) => value instanceof Date ? value.toISOString() : String(value),
  parse: asPrinted,
});

/** Types postgres.js would parse (numbers, booleans, times, json, bytea), handed on as they come instead. */
const TYPES = {
  number: { ...printed(0, 21, 23, 26, 700, 701), from: [21, 23, 26, 700, 701] },
  bigint: printed(20),
  boolean: { ...printed(16), serialize: (value: unknown) => value === true ? "t" : "f" },
  date: printed(1184, 1082, 1114),
  json: { ...printed(114, 3802), serialize: (value: unknown) => JSON.stringify(value) },
  bytea: printed(17),
  uuids: { ...printed(2951), serialize: arrayLiteral },
  texts: { ...printed(1009), serialize: arrayLiteral },
};

function arrayLiteral(values: readonly unknown[]): string {
  const quote = (value: unknown) => `"${String(value).replaceAll(/["\\]/g, "\\$&")}"`;
  return `{${values.map((value) => value === null ? "null" : quote(value)).join(",")}}`;
}

/**
 * Opens a connection for one report: times in UTC, no named statements (poolers in transaction mode). Parameters may
 * be uuid[] and text[] besides plain values. `end` it.
 */
export function connectReportReader(url: string): ReportReader {
  return postgres(url, {
    max: 1,
    connect_timeout: 10,
    fetch_types: false,
    prepare: false,
    connection: { application_name: "steward-reports", TimeZone: "UTC", DateStyle: "ISO, YMD" },
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel }, undefined: null },
    types: TYPES,
  }) as unknown as ReportReader;
}
