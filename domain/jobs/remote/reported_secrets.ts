import { isExactNumber, reviveExactly } from "../../shared/exact_json.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { JobRow } from "../job_row.ts";
import { HIDDEN, memberPath, secretMasks } from "../types/secret_args.ts";
import { readRowsNamed, typeIn } from "../types/find_job_types.ts";

/**
 * Returns a function that masks the secrets of a job's arguments in what its worker reports: outputs, errors, notes and
 * log lines. Reads arguments only of types with secrets.
 */
export async function secretHider(
  q: Sql,
  jobs: Pick<JobRow, "id" | "tenantId" | "jobTypeName">[],
): Promise<(jobId: string, text: string) => string> {
  const rows = await readRowsNamed(q, jobs.map(({ jobTypeName }) => jobTypeName));
  const masks = new Map(jobs.flatMap(({ id, tenantId, jobTypeName }) => {
    const paths = typeIn(rows.get(jobTypeName), tenantId)?.maskedArgs ?? [];
    return paths.length === 0
      ? []
      : [[id, { secretArgs: paths.map((path) => ({ path: memberPath(path) })) }]];
  }));
  if (masks.size === 0) return (_, text) => text;
  const stored = await q<{ id: string; serializedArgs: string }[]>`
    select id, serialized_args from jobs where id = any(${[...masks.keys()]}::uuid[])`;
  const maskOf = secretMasks();
  const hiders = new Map(
    stored.map(({ id, serializedArgs }) => [id, maskOf(masks.get(id) ?? {}, JSON.parse(serializedArgs))]),
  );
  return (jobId, text) => hiders.get(jobId)?.(text) ?? text;
}

/** Masks secrets in a JSON text, which stays JSON. A number that contains a secret becomes `"***"`. */
export function hideInJson(json: string, hide: (text: string) => string): string {
  if (hide(json) === json) return json;
  const masked = JSON.stringify(reviveExactly(json, (_, value) => {
    if (typeof value === "string") return hide(value);
    if (typeof value !== "object" || isExactNumber(value)) {
      const text = JSON.stringify(value);
      return hide(text) === text ? value : HIDDEN;
    }
    if (value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [hide(name), member]));
  }));
  return hide(masked) === masked ? masked : JSON.stringify(HIDDEN); // a secret that is an object or a list
}
