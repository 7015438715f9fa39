import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { JobPlatform } from "../platform.ts";
import { memberPath, typesShownIn, withoutSecrets } from "./secret_args.ts";
import { type NamedRow, readRowsNamed } from "./find_job_types.ts";

/**
 * Masks the secrets in the arguments of every job, recurring job and dead letter of a response.
 * @param tenantId tenant of the rows that do not name theirs; undefined: any tenant
 */
export async function maskSecrets(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  tenantId: string | null | undefined,
  answer: unknown,
): Promise<unknown> {
  const names = typesShownIn(answer);
  const types = names.map((name) => p.jobTypes.get(name));
  if (types.every((type) => type && !type.secretArgs?.length)) return answer;
  const declared = await readRowsNamed(p.sql, names.filter((name) => !p.jobTypes.get(name)));
  const typeOf = (job: { jobTypeName: string; tenantId?: string | null }) => {
    const owner = job.tenantId === undefined ? tenantId : job.tenantId;
    return p.jobTypes.get(job.jobTypeName) ?? maskOf(declared.get(job.jobTypeName) ?? [], owner);
  };
  return withoutSecrets(typeOf, answer);
}

/** All paths that were ever secret, also of deleted types: jobs of them may still exist. */
const maskOf = (rows: NamedRow[], tenantId: string | null | undefined) => ({
  secretArgs: rows
    .filter((row) => tenantId === undefined || row.tenantId === null || row.tenantId === tenantId)
    .flatMap((row) => row.maskedArgs.map((path) => ({ path: memberPath(path) }))),
});

/** The secrets of a type that may have been deleted. */
export const findMask = async (q: Sql, tenantId: string | null, name: string) =>
  maskOf((await readRowsNamed(q, [name])).get(name) ?? [], tenantId);
