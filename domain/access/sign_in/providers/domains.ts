import { z } from "zod";
import { isPublicDomain } from "../../../../infra/mail/mail_address.ts";
import { type Sql, transact, type Tx } from "../../../../infra/postgres/postgres.ts";
import { type Actor, recordAudit } from "../../../audit/audit.ts";
import { maintenanceJob } from "../../../jobs/maintenance.ts";
import {
  countProof,
  type Finding,
  lockSenders,
  MAX_MISSES,
  newDnsValue,
  recordError,
  searchRecord,
  takeDue,
  verifiedInterval,
} from "../../../looks/senders/proofs.ts";
import { invalid, problem } from "../../../problems/problem.ts";
import type { TenantCaller } from "../../../rights/caller.ts";
import { newId } from "../../../shared/ids.ts";
import type { PagedResult, PageRequest } from "../../../shared/paging.ts";
import { countRows, readPage } from "../../../shared/lists.ts";
import { time } from "../../../shared/shapes.ts";
import type { AccessPlatform } from "../../platform.ts";

const MAX_DOMAINS = 50;
const RECORD = "_steward-sign-in";

/** A domain of email addresses whose users a tenant's providers may sign in. */
export const SignInDomain = z.object({
  id: z.guid(),
  name: z.string().describe("In lower case and ASCII. A subdomain is another domain"),
  status: z.enum(["Pending", "Verified", "Failed"]),
  dnsName: z.string().describe("The name of the TXT record that proves the domain"),
  dnsValue: z.string(),
  verifiedAt: time.nullable(),
  checkedAt: time.nullable(),
  lastError: z.string().nullable(),
  createdAt: time,
}).meta({ id: "SignInDomainDto" });
export type SignInDomain = z.output<typeof SignInDomain>;

const columns = (q: Sql) =>
  q`id, name, status, ${`${RECORD}.`} || name as dns_name, dns_value, verified_at, checked_at, last_error, created_at`;

/** Lists the domains of a tenant, the oldest first. */
export const listDomains = (
  q: Sql,
  tenantId: string,
  page: PageRequest,
): Promise<PagedResult<SignInDomain>> =>
  readPage(q, {
    columns: columns(q),
    from: q`sign_in_domains where tenant_id = ${tenantId}`,
    order: q`order by id`,
  }, page);

async function readDomain(q: Sql, tenantId: string, id: string, lock = q``): Promise<SignInDomain> {
  const [row] = await q<SignInDomain[]>`
    select ${columns(q)} from sign_in_domains where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (row) return row;
  throw problem("SIGN_IN_DOMAIN_NOT_FOUND", `The tenant has no sign-in domain ${id}.`);
}

/**
 * Adds a domain, which the tenant then proves by a TXT record.
 * @throws VALIDATION_ERROR, SIGN_IN_DOMAIN_ALREADY_EXISTS, SIGN_IN_DOMAINS_LIMIT_CONFLICT
 */
export async function addDomain(
  p: AccessPlatform,
  caller: TenantCaller,
  name: string,
): Promise<SignInDomain> {
  const { tenantId } = caller;
  if (!isPublicDomain(name, RECORD)) {
    throw invalid({ name: [`"${name.slice(0, 100)}" is not a public domain name such as example.com`] });
  }
  return await transact(p.sql, async (tx) => {
    await lockSenders(tx, tenantId);
    if (await countRows(tx, tx`sign_in_domains where tenant_id = ${tenantId}`) >= MAX_DOMAINS) {
      throw problem(
        "SIGN_IN_DOMAINS_LIMIT_CONFLICT",
        `The domain ${name} was not added: the tenant already has ${MAX_DOMAINS}, the maximum.`,
      );
    }
    const id = newId();
    await tx`insert into sign_in_domains (id, tenant_id, name, dns_value)
      values (${id}, ${tenantId}, ${name}, ${newDnsValue()})`;
    await recordAudit(tx, caller, "sign-in-domain.add", id, { after: { name } });
    return await readDomain(tx, tenantId, id);
  });
}

/** Deletes a domain. Users whom a provider has already signed in stay. @throws SIGN_IN_DOMAIN_NOT_FOUND */
export async function removeDomain(sql: Sql, caller: TenantCaller, id: string): Promise<void> {
  await transact(sql, async (tx) => {
    const { name } = await readDomain(tx, caller.tenantId, id, tx`for update`);
    await tx`delete from sign_in_domains where id = ${id}`;
    await recordAudit(tx, caller, "sign-in-domain.remove", id, { before: { name } });
  });
}

/**
 * Searches the TXT record of a domain at once. Such a check does not fail a verified domain: only daily ones do.
 * @throws SIGN_IN_DOMAIN_NOT_FOUND, RATE_LIMITED
 */
export async function verifyDomain(
  p: AccessPlatform,
  caller: TenantCaller,
  id: string,
): Promise<SignInDomain> {
  const { tenantId } = caller;
  const domain = await transact(p.sql, async (tx) => {
    await lockSenders(tx, tenantId);
    const found = await readDomain(tx, tenantId, id);
    await countProof(tx, tenantId);
    return found;
  });
  const finding = await searchRecord(p, recordOf(domain));
  await transact(p.sql, (tx) => settleCheck(tx, id, finding, caller));
  return await readDomain(p.sql, tenantId, id);
}

const recordOf = ({ dnsName, dnsValue }: SignInDomain) => ({ name: dnsName, value: dnsValue });

/**
 * Writes the result of a check: a found record verifies the domain, and the third daily check without it fails a verified one.
 * Does nothing if the domain was deleted meanwhile.
 * @param actor who asked for the check; null: the daily job
 */
async function settleCheck(tx: Tx, id: string, finding: Finding, actor: Actor): Promise<void> {
  const [row] = await tx<(SignInDomain & { tenantId: string; misses: number })[]>`
    select ${columns(tx)}, tenant_id, misses from sign_in_domains where id = ${id} for update`;
  if (!row) return;
  const { status, tenantId } = row;
  const misses = finding === "Found" ? 0 : row.misses + (finding === "Missing" && actor === null ? 1 : 0);
  const after = finding === "Found" ? "Verified" : misses >= MAX_MISSES ? "Failed" : status;
  await tx`update sign_in_domains set status = ${after}, misses = ${after === "Failed" ? 0 : misses},
      checked_at = now(), last_error = ${finding === "Found" ? null : recordError(recordOf(row), finding)},
      verified_at = case when ${after} = 'Verified' and status <> 'Verified' then now() else verified_at end,
      next_check_at = case when ${after} = 'Verified'
        then now() + ${verifiedInterval(finding)}::text::interval end
    where id = ${id}`;
  if (after === status) return;
  await recordAudit(tx, actor, `sign-in-domain.${after === "Verified" ? "verify" : "fail"}`, id, {
    tenantId,
    before: { name: row.name, status },
    after: { name: row.name, status: after },
  });
}

/** Checks verified domains daily, one after the other in the whole service. */
export const checkDomainsJob = maintenanceJob<AccessPlatform>({
  name: "steward.check-sign-in-domains",
  cron: "* * * * *",
  concurrency: 1,
  works: { checked: { limit: 1, run: checkDueDomain } },
});

/** Checks the domain that has been due longest. @returns 0 if none is due */
export async function checkDueDomain(p: AccessPlatform): Promise<number> {
  const due = await takeDue<SignInDomain>(p.sql, "sign_in_domains", columns(p.sql));
  if (!due) return 0;
  const finding = await searchRecord(p, recordOf(due));
  await transact(p.sql, (tx) => settleCheck(tx, due.id, finding, null));
  return 1;
}

/** True if the tenant has proved the domain of an email address. */
export async function isVerifiedDomain(q: Sql, tenantId: string, name: string): Promise<boolean> {
  const found = await q`
    select from sign_in_domains where tenant_id = ${tenantId} and name = ${name} and status = 'Verified'`;
  return found.length > 0;
}
