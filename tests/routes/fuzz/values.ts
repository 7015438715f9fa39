// Values that match a documented shape, and values that do not.
import fc from "fast-check";
import type { Schema } from "../../../routes/shared/openapi_examples.ts";

const HOSTILE_TEXTS = [
  ...["", " ", "\0", "a\0b", "\ud800", "\u202e", "é".repeat(300), "𝔘𝔫𝔦".repeat(40), "x".repeat(5_000)],
  ...["' or 1=1 --", "%", "%00", "\\", "../../etc/passwd", "<script>alert(1)</script>", "{{ a | b }}"],
  ...["${a}", "null", "NaN", "-0", "1e309", "9".repeat(40), "0000-00-00T00:00:00Z", "\r\n", "\u{10ffff}"],
  ...["+275760-09-13T00:00:00Z", "* * * * *", "60 99 * * *", "@every", "Mars/Olympus", "pt-BR", "a@b"],
  "javascript:alert(1)",
  ...["constructor", "__proto__", "toString", "read:users", "(?:a+)+$", "SGVsbG8=", "\ufeff", "١٢٣"],
];

/** Bodies that are not a document of any shape. */
export const RAW_BODIES: (string | Uint8Array<ArrayBuffer>)[] = [
  ...["", "{", "[]", "null", "0", '"x"', '{"a":1,"a":2}', "[".repeat(100_000), '{"a":'.repeat(5_000)],
  ...["x".repeat(1_100_000), `{"email":"${"x".repeat(900_000)}"}`, "\ufeff{}", '{"a":"\\u0000"}'],
  ...['{"a":"\\ud800"}', Uint8Array.of(0xff, 0xfe, 0x00), Uint8Array.of(0x7b, 0xc3, 0x28, 0x7d)],
  '{"__proto__":{"isAdmin":true}}',
  ...[`{"id":1e999}`, `{${'"k":1,'.repeat(20_000)}"z":1}`],
];

/** Generators of values by the document's `schemas`; `anyId` returns the id of an existing object. */
export function valuesBy(schemas: Record<string, Schema>, anyId: fc.Arbitrary<string>) {
  const hostileText = fc.oneof(
    fc.constantFrom(...HOSTILE_TEXTS),
    fc.string({ unit: "binary", maxLength: 60 }),
    anyId,
  );
  const hostileNumber = fc.constantFrom(
    ...[0, -1, -0, 0.5, 1e-7, 1e21, 1e308],
    ...[2 ** 31, 2 ** 53, -(2 ** 63), Number.MAX_SAFE_INTEGER, 2_147_483_648],
  );
  const hostile: fc.Arbitrary<unknown> = fc.oneof(
    hostileText,
    hostileNumber,
    fc.constantFrom(null, true, false, [], {}, [[]], [null], { "": "" }, { "\0": 1 }),
    fc.constant(JSON.parse("[".repeat(150) + "]".repeat(150))),
    fc.constant(JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":{}}}')),
    fc.constant(Array.from({ length: 2_000 }, (_, index) => index)),
    fc.jsonValue({ maxDepth: 3 }),
  );

  /** Values that match the schema most of the time, and otherwise have a wrong part. */
  function valueOf(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
    return fc.oneof({ arbitrary: soundValue(schema, depth), weight: 14 }, { arbitrary: hostile, weight: 1 });
  }

  function soundValue(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const { $ref, enum: choices } = schema;
    if ($ref) return valueOf(schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}, depth);
    if (choices) return fc.constantFrom(...choices);
    if (schema.const !== undefined) return fc.constant(schema.const);
    const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (parts) return fc.oneof(...parts.map((part) => soundValue(part, depth)));
    const types = [schema.type].flat();
    return fc.oneof(...types.map((type) => typedValue(type, schema, depth)));
  }

  function typedValue(type: string | undefined, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    if (type === "null") return fc.constant(null);
    if (type === "boolean") return fc.boolean();
    if (type === "integer" || type === "number") return numberOf(schema);
    if (type === "string") return textOf(schema);
    if (type === "array") {
      return fc.array(valueOf(schema.items ?? {}, depth + 1), { maxLength: depth > 3 ? 1 : 4 });
    }
    if (type !== "object" || depth > 6) return hostile;
    const properties = Object.entries(schema.properties ?? {});
    if (properties.length === 0) return fc.dictionary(fc.string({ maxLength: 8 }), hostile, { maxKeys: 4 });
    const required = new Set(schema.required);
    return fc.record(
      Object.fromEntries(properties.map(([name, property]) => [name, valueOf(property, depth + 1)])),
      { requiredKeys: properties.map(([name]) => name).filter((name) => required.has(name)) },
    );
  }

  const numberOf = (schema: Schema & { maximum?: number }) =>
    fc.oneof(
      fc.integer({ min: schema.minimum ?? 0, max: Math.max(schema.minimum ?? 0, schema.maximum ?? 100) }),
      fc.integer({ min: schema.minimum ?? 0, max: (schema.minimum ?? 0) + 3 }),
    );

  function textOf({ format, pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
    if (format === "uuid") return fc.oneof(anyId, fc.uuid());
    if (format?.startsWith("date")) {
      return fc.date({ noInvalidDate: true }).map((date) =>
        format === "date" ? date.toISOString().slice(0, 10) : date.toISOString()
      );
    }
    if (pattern && !/[!-]\\x|\(\?!|\\x/.test(pattern)) return fc.stringMatching(new RegExp(pattern, "u"));
    const longest = Math.max(minLength, Math.min(maxLength, 60));
    return fc.oneof(
      fc.string({ minLength, maxLength: longest }),
      fc.string({ unit: "grapheme", minLength, maxLength: longest }),
      fc.constantFrom(..."users,document,steward.echo,0 4 * * *,UTC,en,ada@example.test,Email".split(",")),
    );
  }

  return { hostile, hostileText, valueOf };
}
