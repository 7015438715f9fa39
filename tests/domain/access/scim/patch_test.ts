import fc from "fast-check";
import assert from "node:assert/strict";
import { scimPatch, type ScimPatchOperation } from "scim-patch";
import { applyPatch, readPatch } from "../../../../domain/access/scim/patch.ts";
import { ENTERPRISE, USERS } from "../../../../domain/access/scim/schema.ts";
import type { Resource } from "../../../../domain/access/scim/values.ts";
import { Problem } from "../../../../domain/problems/problem.ts";

const SCHEMAS = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
const patched = (resource: Resource, operations: unknown[]) =>
  applyPatch(USERS, resource, readPatch({ schemas: SCHEMAS, Operations: operations }));

/** Without empty values, which count as absent, and with members in one order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical).filter((each) => each !== undefined);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const part = canonical(each);
    const isEmpty = part === undefined || Array.isArray(part) && part.length === 0;
    return isEmpty ? [] : [[name, part]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1));
}

const word = fc.constantFrom("a", "b", "c");
const email = fc.record({ value: word, type: fc.constantFrom("work", "home") });
const emails = fc.uniqueArray(email, { maxLength: 3, selector: ({ type }) => type });
const resource = fc.record({
  title: word,
  name: fc.record({ givenName: word, familyName: word }),
  emails,
  [ENTERPRISE]: fc.record({ department: word, manager: fc.record({ value: word }) }),
}, { requiredKeys: ["name", ENTERPRISE] });

const changes = (path: string, value: fc.Arbitrary<unknown>) =>
  fc.record({ op: fc.constantFrom("add" as const, "replace" as const), path: fc.constant(path), value });
const operation: fc.Arbitrary<ScimPatchOperation> = fc.oneof(
  changes("title", word),
  changes("name.givenName", word),
  changes("name", fc.record({ familyName: word })),
  changes("emails", fc.uniqueArray(email, { minLength: 1, maxLength: 2, selector: ({ type }) => type })),
  changes('emails[type eq "work"].value', word),
  changes('emails[type eq "home"].display', word),
  changes(`${ENTERPRISE}:department`, word),
  changes(`${ENTERPRISE}:manager`, fc.record({ value: word })),
  fc.record({
    op: fc.constantFrom("add" as const, "replace" as const),
    value: fc.record({ title: word, "name.givenName": word, [`${ENTERPRISE}:department`]: word }, {
      requiredKeys: ["title"],
    }),
  }),
  fc.record({
    op: fc.constant("remove" as const),
    path: fc.constantFrom(
      "title",
      "name.familyName",
      "emails",
      'emails[value eq "a" or type eq "home"]',
      `${ENTERPRISE}:department`,
    ),
  }),
) as fc.Arbitrary<ScimPatchOperation>;

Deno.test("PATCH gives the results of another implementation", () => {
  fc.assert(
    fc.property(resource, fc.array(operation, { minLength: 1, maxLength: 4 }), (before, operations) => {
      const outcome = (work: () => unknown) => {
        try {
          return canonical(work());
        } catch (failure) {
          return failure instanceof Problem || /noTarget|Search|mono/i.test(JSON.stringify(failure) + failure)
            ? "refused"
            : failure;
        }
      };
      const copy = () => structuredClone(before) as Resource;
      const options = { mutateDocument: false, treatMissingAsAdd: false };
      const theirs = outcome(() => scimPatch(copy() as never, structuredClone(operations), options));
      const ours = outcome(() => patched(copy(), operations));
      // It refuses to remove values of an attribute that has none. Here what is gone already counts as removed.
      const removesSome = operations.some(({ op, path }) => op === "remove" && path?.includes("["));
      if (theirs !== "refused" || !removesSome) assert.deepEqual(ours, theirs);
    }),
    { numRuns: 500 },
  );
});
