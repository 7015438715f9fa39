import { isDeepStrictEqual } from "node:util";
import { v5 } from "uuid";
import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { traceparent } from "../../../infra/telemetry/tracing.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, principalId } from "../../rights/caller.ts";
import { parseOrText } from "../../shared/exact_json.ts";
import { time } from "../../shared/shapes.ts";
import { type ClaimedWork, findClaimedOnce, giveBackClaimed } from "./claim_slots.ts";
import { type NamedRow, readRowsNamed, typeIn } from "../types/find_job_types.ts";
import { type Served, serves, tenantsServed } from "./served.ts";
import type { RemoteWorkPlatform, WorkRequest } from "./work_polls.ts";

/** A claim as a caller requests it. */
type ClaimRequest =
  & Pick<WorkRequest, "types" | "queues" | "max" | "worker" | "program" | "requestId">
  & { waitSeconds: number };

/** A claimed job as its worker sees it. */
export const WorkItem = z.object({
  jobId: z.guid(),
  attempt: z.int().describe("Names this attempt in heartbeats and settlements"),
  jobTypeName: z.string(),
  tenantId: z.guid().nullable(),
  args: z.unknown(),
  attempts: z.int().describe("Failed attempts that count against maxRetries"),
  maxRetries: z.int(),
  leaseUntil: time,
  deadline: time.describe("When the attempt times out"),
  traceparent: z.string().nullable(),
}).meta({ id: "WorkItemDto" });
export type WorkItem = z.output<typeof WorkItem>;

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
  const { waitSeconds, ...wanted } = request;
  const served = await tenantsServed(p.sql, caller);
  await requireClaimable(p.sql, wanted.types, { caller, served });
  const workerId = v5(`${caller.tenantId ?? ""} ${wanted.worker}`, principalId(caller));
  const asked = { ...wanted, workerId, served, caller };
  const since = performance.now();
  let found = await p.workPolls.wait(asked, waitSeconds * 1000, o.gone);
  if (found.length === 0 && asked.requestId !== null) {
    found = await findClaimedOnce(p.sql, asked); // by a simultaneous claim at another instance
  }
  const isOld = performance.now() - since > AUTHENTICATED_MS;
  const jobs = isOld && found.length > 0 ? await stillServed(p, found, served, o.renew) : found;
  return jobs.map((job) => ({
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
  }));
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
