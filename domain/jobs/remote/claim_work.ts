import { isDeepStrictEqual } from "node:util";
import { v5 } from "uuid";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { traceparent } from "../../../infra/telemetry/tracing.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, principalId } from "../../rights/caller.ts";
import { parseOrText } from "../../shared/exact_json.ts";
import type { RemoteWorkPlatform } from "./platform.ts";
import { type ClaimedWork, findClaimedOnce, giveBackClaimed } from "./claim_slots.ts";
import { type NamedRow, readRowsNamed, typeIn } from "../types/find_job_types.ts";
import { type Served, serves, tenantsServed } from "./served.ts";

/** A claim as a caller requests it. */
export interface ClaimRequest {
  types: string[];
  queues: string[] | null;
  max: number;
  waitSeconds: number;
  /** Name of the worker. */
  worker: string;
  /** Product and version of the worker, as in a User-Agent; null: it did not say. */
  program: string | null;
  requestId: string | null;
}

/** A claimed job as its worker sees it. */
export interface WorkItem {
  jobId: string;
  attempt: number;
  jobTypeName: string;
  tenantId: string | null;
  args: unknown;
  /** Failed attempts that count against `maxRetries`. */
  attempts: number;
  maxRetries: number;
  leaseUntil: Date;
  deadline: Date;
  traceparent: string | null;
}

type ClaimPlatform = Pick<RemoteWorkPlatform, "sql" | "workPolls">;

/** After a longer wait the caller is authenticated again. A change of rights takes effect within a second anyway. */
const AUTHENTICATED_MS = 500;

/**
 * Claims due jobs for a remote worker. Waits for some if none is due. A repeated claim with the same requestId gets the
 * jobs of the first while the worker holds them.
 * @param o.gone aborted when the client has gone
 * @param o.renew authenticates the caller again, because jobs may be found long after the request began
 * @throws JOB_TYPE_UNKNOWN, VALIDATION_ERROR (a type that is pushed)
 */
export async function claimWork(
  p: ClaimPlatform,
  caller: Caller,
  request: ClaimRequest,
  o: { gone: AbortSignal; renew(): Promise<Caller> },
): Promise<WorkItem[]> {
  const { types, queues, max, worker, program, requestId } = request;
  const served = await tenantsServed(p.sql, caller);
  await requireClaimable(p.sql, types, { caller, served });
  const workerId = v5(`${caller.tenantId ?? ""} ${worker}`, principalId(caller));
  const asked = { types, queues, max, worker, program, workerId, requestId, served, caller };
  const since = performance.now();
  let found = await p.workPolls.wait(asked, request.waitSeconds * 1000, o.gone);
  if (found.length === 0 && requestId !== null) {
    found = await findClaimedOnce(p.sql, asked); // by a simultaneous claim at another instance
  }
  const isOld = performance.now() - since > AUTHENTICATED_MS;
  const jobs = isOld && found.length > 0 ? await stillServed(p, found, served, o.renew) : found;
  return jobs.map(workItem);
}

/**
 * The jobs, if the caller still serves the same tenants. Otherwise gives them back.
 * @throws what authentication throws
 */
async function stillServed(
  p: ClaimPlatform,
  jobs: ClaimedWork[],
  served: Served,
  renew: () => Promise<Caller>,
): Promise<ClaimedWork[]> {
  let isSame = false;
  try {
    isSame = isDeepStrictEqual(await tenantsServed(p.sql, await renew()), served);
  } finally {
    if (!isSame) await giveBackClaimed(p.sql, jobs);
  }
  return isSame ? jobs : [];
}

const workItem = (job: ClaimedWork): WorkItem => ({
  jobId: job.id,
  attempt: job.attempts,
  jobTypeName: job.jobTypeName,
  tenantId: job.tenantId,
  args: parseOrText(job.serializedArgs),
  attempts: job.failures,
  maxRetries: job.maxRetries,
  leaseUntil: job.leaseUntil,
  deadline: job.deadline,
  traceparent: job.traceId && traceparent(job.traceId),
});

async function requireClaimable(
  q: Sql,
  names: string[],
  o: { caller: Caller; served: Served },
): Promise<void> {
  const rows = await readRowsNamed(q, names);
  for (const name of names) {
    const usable = await usableRows(q, rows.get(name) ?? [], o);
    if (usable.length === 0) {
      const tenants = "except" in o.served
        ? "tenants other than the platform"
        : "the tenants that the caller serves";
      throw problem("JOB_TYPE_UNKNOWN", `No job type ${name} is declared for ${tenants}.`);
    }
    if (usable.every(({ pushUrl }) => pushUrl !== null)) {
      throw invalid({ types: [`jobs of type ${name} are pushed to its URL and cannot be claimed`] });
    }
  }
}

/**
 * The types that a name stands for in the tenants of the caller. Those of tenants that are switched off are among them,
 * so that a worker of several tenants goes on for the others.
 */
async function usableRows(
  q: Sql,
  rows: NamedRow[],
  { caller: { tenantId, serviceAccount }, served }: { caller: Caller; served: Served },
): Promise<NamedRow[]> {
  const tenantIds = tenantId === null ? serviceAccount?.tenantIds : [tenantId];
  if (tenantIds) return tenantIds.flatMap((tenantId) => typeIn(rows, tenantId) ?? []);
  const live = rows.filter(({ deletedAt }) => deletedAt === null);
  if (!serviceAccount || live.some((row) => row.tenantId === null || serves(served, row.tenantId))) {
    return live;
  }
  const [platform] = await q<{ id: string }[]>`select id from tenants where type = 'Platform'`;
  return live.filter((row) => row.tenantId !== platform?.id);
}
