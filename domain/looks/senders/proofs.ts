import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";

const MAX_PROOFS_AN_HOUR = 30;

/**
 * Locks the row of a tenant in `tenant_looks` until `tx` ends. This serializes changes of the tenant's senders, because
 * they share one default, a maximum number and a limit of proofs.
 */
export async function lockSenders(tx: Tx, tenantId: string): Promise<void> {
  await tx`insert into tenant_looks (tenant_id) values (${tenantId}) on conflict (tenant_id) do nothing`;
  await tx`select from tenant_looks where tenant_id = ${tenantId} for update`;
}

/**
 * Counts a proof: a mail with a link, or a DNS query that a request asks for. Without a limit, tenants could have the
 * service mail strangers and query name servers.
 * @throws RATE_LIMITED
 */
export async function countProof(tx: Tx, tenantId: string): Promise<void> {
  const { count } = await tx`
    update tenant_looks set
      proofs = case when proofs_since > now() - interval '1 hour' then proofs + 1 else 1 end,
      proofs_since = case when proofs_since > now() - interval '1 hour' then proofs_since else now() end
    where tenant_id = ${tenantId}
      and (proofs < ${MAX_PROOFS_AN_HOUR} or proofs_since <= now() - interval '1 hour')`;
  if (count > 0) return;
  const [row] = await tx<{ seconds: number }[]>`
    select greatest(1, ceil(extract(epoch from proofs_since + interval '1 hour' - now())))::int as seconds
    from tenant_looks where tenant_id = ${tenantId}`;
  throw problem(
    "RATE_LIMITED",
    `Too many requests: a tenant may start ${MAX_PROOFS_AN_HOUR} proofs of senders and domains an hour.`,
    { headers: { "retry-after": String(row?.seconds ?? 3600) } },
  );
}
