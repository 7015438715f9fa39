import { z } from "zod";
import { Problem } from "../../domain/problems/problem.ts";
import { BULK_LIMIT, BulkFailure } from "../../domain/shared/bulk.ts";
import { requireStorableText } from "../../domain/shared/storable.ts";
import type { Call } from "./call.ts";

/** The body of a bulk request. Items are validated one by one, so that an invalid item is reported alone. */
export const bulkRequest = z.object({
  items: z.array(z.unknown()).min(1).max(BULK_LIMIT),
  continueOnError: z.boolean().default(false),
});

/** The answer of a bulk request; `item` is the shape of a result. */
export const bulkResponseOf = (item: z.ZodType) =>
  z.object({
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    results: z.array(item),
    failures: z.array(BulkFailure),
  });

/**
 * Validates each item. Returns the parsed item or the Problem with its errors.
 * @param check further validation; throws a Problem
 * @param member name of the member that holds the items
 */
export function readItems<S extends z.ZodType>(
  call: Call,
  schema: S,
  items: unknown[],
  check?: (item: z.output<S>, at: (string | number)[]) => void,
  member = "items",
): (z.output<S> | Problem)[] {
  return items.map((item, index) => {
    try {
      requireStorableText(item);
      const at = [member, index];
      const read = call.parseBody(schema, item, at);
      check?.(read, at);
      return read;
    } catch (refusal) {
      if (refusal instanceof Problem) return refusal;
      throw refusal;
    }
  });
}
