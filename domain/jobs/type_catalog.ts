import { z } from "zod";
import type { AnyJobType, JobTypes } from "./job_type.ts";

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
    return type ? [describe(type)] : [];
  });
}

const described = new WeakMap<AnyJobType, ExposedJobType>();

/** The description of one type. It is kept, because a JSON Schema is expensive to derive. */
function describe(type: AnyJobType): ExposedJobType {
  const known = described.get(type);
  if (known) return known;
  const { name, timeoutMs, maxRetries, concurrency = null } = type;
  const argsSchema: Record<string, unknown> = {
    ...z.toJSONSchema(type.args, { io: "input", unrepresentable: "any" }),
  };
  const description = { name, argsSchema, timeoutMs, maxRetries, concurrency };
  described.set(type, description);
  return description;
}
