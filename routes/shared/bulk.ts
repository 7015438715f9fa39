import { z } from "zod";
import { Problem } from "../../domain/problems/problem.ts";
import { requireStorableText } from "../../domain/shared/storable.ts";
import type { Call } from "./call.ts";

/** Most items of one bulk request. */
export const BULK_LIMIT = 1000;

/** The body of a bulk request. Items are read one by one, so that one that does not fit can be reported alone. */
export const bulkRequest = z.object({
  items: z.array(z.unknown()).min(1).max(BULK_LIMIT),
  continueOnError: z.boolean().default(false),
});

const BulkItemFailure = z.object({
  index: z.int(),
  code: z.string(),
  message: z.string(),
  errors: z.record(z.string(), z.array(z.string())).nullable(),
}).meta({ id: "BulkItemFailure" });

/** What a bulk request answers, with the results in `item`'s shape. */
export const bulkResponseOf = (item: z.ZodType) =>
  z.object({
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    results: z.array(item),
    failures: z.array(BulkItemFailure),
  });

/**
 * Each item of the call's body as `schema` reads it, or why it does not fit.
 * @param check throws the Problem of an item that does not fit in another way.
 */
export function readItems<S extends z.ZodType>(
  call: Call,
  schema: S,
  items: unknown[],
  check?: (item: z.output<S>, at: (string | number)[]) => void,
): (z.output<S> | Problem)[] {
  return items.map((item, index) => {
    try {
      requireStorableText(item);
      const at = ["items", index];
      const read = call.parseBody(schema, item, at);
      check?.(read, at);
      return read;
    } catch (refusal) {
      if (refusal instanceof Problem) return refusal;
      throw refusal;
    }
  });
}
