import { z } from "zod";
import type { AnyJobType } from "../job_type.ts";
import { Pause, readPauses } from "../limits/pauses.ts";
import type { JobPlatform } from "../platform.ts";
import type { DeclaredJobType } from "../types/job_type_row.ts";
import { MARK, searchablePaths } from "../searchable_args.ts";
import { readUsableTypes } from "../types/declared_types.ts";

/** A job type callers may enqueue. */
export const ExposedJobType = z.object({
  name: z.string(),
  argsSchema: z.record(z.string(), z.unknown()).describe("JSON Schema of the arguments"),
  timeoutMs: z.int(),
  maxRetries: z.int(),
  // Null: no limit.
  concurrency: z.int().nullable().describe("Maximum number that run at once in the whole service"),
  rateLimit: z.object({ count: z.int(), perSeconds: z.int(), key: z.string().nullable() }).nullable(),
  // Null: its jobs start.
  pause: Pause.nullable(),
}).meta({ id: "JobTypeDto", description: "A job type callers may enqueue" });
export type ExposedJobType = z.output<typeof ExposedJobType>;

/**
 * The job types that callers of a tenant may enqueue, sorted by name: those of the service, and declared ones. Where JSON
 * Schema cannot express a rule, it allows any value.
 */
export async function describeJobTypes(
  { sql, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  tenantId: string | null,
): Promise<ExposedJobType[]> {
  const pauses = await readPauses(sql, tenantId, "type");
  const own = jobTypes.exposedNames().flatMap((name) => jobTypes.get(name) ?? []).map(describe);
  const declared = (await readUsableTypes(sql, tenantId)).filter(({ name }) => !jobTypes.get(name));
  return [...own, ...declared.map(describeDeclared)].sort((a, b) => a.name < b.name ? -1 : 1)
    .map((type) => ({ ...type, pause: pauses.get(type.name) ?? null }));
}

type Described = Omit<ExposedJobType, "pause">;

const describeDeclared = (type: DeclaredJobType): Described => ({
  name: type.name,
  argsSchema: type.argsSchema ?? {},
  timeoutMs: type.timeoutSeconds * 1000,
  maxRetries: type.maxRetries,
  concurrency: type.concurrency,
  rateLimit: type.rateLimit,
});

const described = new WeakMap<AnyJobType, Described>();

/** The description of one type. It is kept, because a JSON Schema is expensive to derive. */
function describe(type: AnyJobType): Described {
  const known = described.get(type);
  if (known) return known;
  const { name, timeoutMs, maxRetries, concurrency = null } = type;
  const rateLimit = type.rateLimit ? { key: null, ...type.rateLimit } : null;
  const argsSchema: Record<string, unknown> = {
    ...z.toJSONSchema(type.args, { io: "input", unrepresentable: "any" }),
  };
  const searchable = searchablePaths(type);
  if (searchable.length > 0) argsSchema[MARK] = searchable;
  const description = { name, argsSchema, timeoutMs, maxRetries, concurrency, rateLimit };
  described.set(type, description);
  return description;
}
