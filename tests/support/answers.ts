import assert from "node:assert/strict";
import type { HttpAnswer } from "./http.ts";

/** Asserts that the answer is a problem with this status and code, and a detail that matches. */
export function refused({ status, body }: HttpAnswer, expected: number, code: string, detail = /^/): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
  assert.match(String(body.detail), detail);
}

/** Asserts that the answer is VALIDATION_ERROR and names exactly these members, in any order. */
export function invalid(answer: HttpAnswer, ...members: string[]): void {
  refused(answer, 400, "VALIDATION_ERROR");
  const { errors } = answer.body;
  assert.deepEqual(Object.keys(errors).sort(), members.toSorted(), JSON.stringify(errors));
}

// deno-lint-ignore no-explicit-any -- answers of every shape
type Value = any;

const isRecord = (value: Value) => value !== null && typeof value === "object" && !(value instanceof Date);

function picked(actual: Value, expected: Value): Value {
  if (!isRecord(actual) || !isRecord(expected)) return actual;
  if (Array.isArray(actual)) {
    return actual.map((item, at) => at in expected ? picked(item, expected[at]) : item);
  }
  return Object.fromEntries(Object.keys(expected).map((key) => [key, picked(actual[key], expected[key])]));
}

/**
 * Asserts that an object has these members, also in nested objects; it may have others. An array has exactly the given
 * elements.
 */
export function has(actual: Value, expected: Value, message?: string): void {
  assert.deepEqual(picked(actual, expected), expected, message);
}

/** The member with this name of each item; of several names, a list for each item. */
export const pluck = (items: Value[], ...names: string[]): Value[] =>
  items.map((item) => names.length === 1 ? item[names[0] ?? ""] : names.map((name) => item[name]));

/** An object whose members with these names, separated by spaces, are null. */
export const nulls = (names: string): Record<string, null> =>
  Object.fromEntries(names.split(" ").map((name) => [name, null]));

/** Asserts that a text contains each of these parts. */
export function contains(text: string | null | undefined, ...parts: string[]): void {
  for (const part of parts) assert.ok(text?.includes(part), `${part} is not in ${text?.slice(0, 2_000)}`);
}
