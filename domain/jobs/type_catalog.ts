import { z } from "zod";
import type { JobTypes } from "./job_type.ts";

/** A job type callers may enqueue. */
export interface ExposedJobType {
  name: string;
  /** JSON Schema (2020-12) of the arguments that callers send. */
  argsSchema: Record<string, unknown>;
  timeoutMs: number;
  maxRetries: number;
  /** Maximum number that run at once in the whole service; null: no limit. */
  concurrency: number | null;
}

/** The job types callers may enqueue, sorted by name. Where JSON Schema cannot express a rule, it allows any value. */
export function describeJobTypes(types: JobTypes): ExposedJobType[] {
  return types.exposedNames().flatMap((name) => {
    const type = types.get(name);
    return type
      ? [{
        name,
        argsSchema: z.toJSONSchema(type.args, { io: "input", unrepresentable: "any" }) as Record<
          string,
          unknown
        >,
        timeoutMs: type.timeoutMs,
        maxRetries: type.maxRetries,
        concurrency: type.concurrency ?? null,
      }]
      : [];
  });
}
