import { z } from "zod";
import type { JobTypes } from "./job_type.ts";

/** A job type callers may enqueue. */
export interface ExposedJobType {
  name: string;
  /** JSON Schema (2020-12) of its arguments as callers send them. */
  argsSchema: Record<string, unknown>;
  timeoutMs: number;
  maxRetries: number;
  /** Most of them that run at once in the whole service; null: no limit. */
  concurrency: number | null;
}

/** The job types callers may enqueue, by name. What JSON Schema cannot say is left open in it. */
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
