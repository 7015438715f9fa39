import { randomBytes } from "node:crypto";
import { DnsUnavailable, readTxtRecords } from "../../../infra/dns.ts";
import type { Sql, SqlPart, Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";

/** A TXT record that proves a domain. */
interface ProvingRecord {
  name: string;
  value: string | null;
}

/** The result of a check. `Unknown`: the name server did not answer. */
export type Finding = "Found" | "Missing" | "Unknown";

/** A verified sender or domain fails after this many checks in a row that do not find its record. */
export const MAX_MISSES = 3;

/** A new value of a TXT record that proves a domain. */
export const newDnsValue = (): string => `steward-verification=${randomBytes(18).toString("base64url")}`;

/** Searches a TXT record that proves a domain. */
export async function searchRecord(
  p: Pick<Platform, "config" | "log">,
  { name, value }: ProvingRecord,
): Promise<Finding> {
  try {
    const records = await readTxtRecords(name, p.config.DNS_SERVER);
    return records.some((record) => record.trim() === value) ? "Found" : "Missing";
  } catch (error) {
    if (!(error instanceof DnsUnavailable)) throw error;
    p.log.warn("a record that proves a domain could not be searched", { name, error });
    return "Unknown";
  }
}

/** The reason why a record was not found, for the tenant. */
export const recordError = ({ name, value }: ProvingRecord, finding: Finding): string =>
  finding === "Unknown"
    ? `The name server did not answer for ${name}.`
    : `The TXT record ${name} with the value ${value} was not found.`;

/** The interval until the next check of what is verified, for Postgres. */
export const verifiedInterval = (finding: Finding): string => finding === "Unknown" ? "1 hour" : "1 day";

/**
 * Claims the row whose check has been due longest; null if none is due. If the process dies during the check, it is due again
 * ten minutes later.
 */
export async function takeDue<T extends object>(
  sql: Sql,
  table: "notification_senders" | "sign_in_domains",
  columns: SqlPart,
): Promise<T | null> {
  const [row] = await sql<T[]>`
    update ${sql(table)} set next_check_at = now() + interval '10 minutes'
    where id = (select id from ${sql(table)} where next_check_at <= now()
      order by next_check_at limit 1 for update skip locked)
    returning ${columns}`;
  return row ?? null;
}

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
