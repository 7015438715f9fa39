import { isExactNumber, reviveExactly } from "../../shared/exact_json.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { JobRow } from "../job_row.ts";
import { HIDDEN, memberPath, secretMasks } from "../types/secret_args.ts";
import { readRowsNamed, typeIn } from "../types/find_job_types.ts";

/** Bytes of arguments that are read at once. */
const PART_BYTES = 4 * 1024 * 1024;
/** A caller holds many large jobs and reports on all of them in a small request, so the arguments read for it are limited. */
const PARTS = 8;

/** Returns a text with the secrets of a job's arguments masked. */
export type Hide = (text: string) => string;

/**
 * Masks the secrets of jobs' arguments in what their workers report: outputs, errors, notes and log lines. Reads arguments
 * only of types with secrets, at most 32 MiB: texts about further jobs are hidden whole.
 * @param jobs those of the reports
 * @param masked makes a report with its texts masked
 */
export async function hideReported<T extends { jobId: string }, Masked>(
  q: Sql,
  jobs: Pick<JobRow, "id" | "tenantId" | "jobTypeName">[],
  reports: T[],
  masked: (report: T, hide: Hide) => Masked,
): Promise<Masked[]> {
  const rows = await readRowsNamed(q, jobs.map(({ jobTypeName }) => jobTypeName));
  const masks = new Map(jobs.flatMap(({ id, tenantId, jobTypeName }) => {
    const paths = typeIn(rows.get(jobTypeName), tenantId)?.maskedArgs ?? [];
    return paths.length === 0
      ? []
      : [[id, { secretArgs: paths.map((path) => ({ path: memberPath(path) })) }]];
  }));
  if (masks.size === 0) return reports.map((report) => masked(report, (text) => text));
  const sized = await q<{ id: string; part: number }[]>`
    select id, (sum(octet_length(serialized_args)) over (order by id) / ${PART_BYTES})::int as part
    from jobs where id = any(${[...masks.keys()]}::uuid[])`;
  const maskOf = secretMasks();
  const byJob = Map.groupBy(reports, ({ jobId }) => jobId);
  const done = new Map<T, Masked>();
  for (const [part, ids] of Map.groupBy(sized, (job) => job.part)) {
    const stored = part >= PARTS ? [] : await q<{ id: string; serializedArgs: string }[]>`
      select id, serialized_args from jobs where id = any(${ids.map(({ id }) => id)}::uuid[])`;
    const args = new Map(stored.map(({ id, serializedArgs }) => [id, serializedArgs]));
    for (const { id } of ids) {
      const given = args.get(id);
      const hide = given === undefined ? () => HIDDEN : maskOf(masks.get(id) ?? {}, JSON.parse(given));
      for (const report of byJob.get(id) ?? []) done.set(report, masked(report, hide));
    }
  }
  return reports.map((report) => done.get(report) ?? masked(report, (text) => text));
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
