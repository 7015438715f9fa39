import { isPublicDomain, mailDomain, mailKey } from "../../../infra/mail/mail_address.ts";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Actor, recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { requireVersion } from "../../shared/version.ts";
import type { LooksPlatform } from "../platform.ts";
import { countProof, lockSenders, newDnsValue } from "./proofs.ts";
import { readSender, type Sender, senderColumns, type SenderMethod } from "../sender.ts";

const MAX_SENDERS = 100;
/** Time in which a pending sender can be verified: by its record, or by the mailed link. */
export const PROOF_TIME: Record<SenderMethod, string> = { Dns: "7 days", Mail: "24 hours" };

/**
 * Adds a pending sender. `Dns`: a job searches the TXT record. `Mail`: a link is mailed to the address.
 * @throws VALIDATION_ERROR, NOTIFICATION_SENDER_ALREADY_EXISTS, NOTIFICATION_SENDERS_LIMIT_CONFLICT, RATE_LIMITED
 */
export async function addSender(
  p: LooksPlatform,
  caller: TenantCaller,
  given: Pick<Sender, "address" | "name" | "method">,
): Promise<Sender> {
  const { tenantId } = caller;
  const { address, name, method } = given;
  requirePublicDomain(address);
  return await transact(p.sql, async (tx) => {
    await lockSenders(tx, tenantId);
    if (await countRows(tx, tx`notification_senders where tenant_id = ${tenantId}`) >= MAX_SENDERS) {
      throw problem(
        "NOTIFICATION_SENDERS_LIMIT_CONFLICT",
        `The sender ${address} was not added: the tenant already has ${MAX_SENDERS} senders, the maximum.`,
      );
    }
    const id = newId();
    await tx`
      insert into notification_senders (id, tenant_id, address, address_key, name, method, dns_value, proof_ends_at,
        next_check_at, created_by)
      values (${id}, ${tenantId}, ${address}, ${mailKey(address)}, ${name}, ${method},
        ${method === "Dns" ? await dnsValueOf(tx, tenantId, address) : null},
        now() + ${PROOF_TIME[method]}::text::interval,
        now() + ${method === "Dns" ? "1 minute" : PROOF_TIME.Mail}::text::interval, ${caller.userId})`;
    if (method === "Mail") await mailLink(p, tx, caller, id);
    const added = await readSender(tx, tenantId, id);
    await auditSender(tx, caller, "add", added);
    return added;
  });
}

/** Refuses a domain that public name servers cannot know, or whose record would have too long a name. @throws VALIDATION_ERROR */
function requirePublicDomain(address: string): void {
  const domain = mailDomain(address);
  if (isPublicDomain(domain, "_steward")) return;
  throw invalid({ address: [`"${domain.slice(0, 100)}" is not a public domain name such as example.com`] });
}

/** The value of the TXT record for an address. All senders of a tenant in one domain share it. */
async function dnsValueOf(tx: Tx, tenantId: string, address: string): Promise<string> {
  const senders = await tx<{ address: string; dnsValue: string }[]>`
    select address, dns_value from notification_senders where tenant_id = ${tenantId} and dns_value is not null`;
  const same = senders.find((sender) => mailDomain(sender.address) === mailDomain(address));
  return same?.dnsValue ?? newDnsValue();
}

/** Mails a new link to a pending sender. Links of earlier mails stop working. */
export async function mailLink(p: LooksPlatform, tx: Tx, caller: TenantCaller, id: string): Promise<void> {
  await countProof(tx, caller.tenantId);
  const token = newSecret();
  const [sender] = await tx<Sender[]>`
    update notification_senders set token_hash = ${digest(token)}
    where id = ${id} and status = 'Pending' returning ${senderColumns(tx)}`;
  if (!sender) throw new Error(`the sender ${id} is not pending although it is locked`);
  const [user] = await findUsersInTenant(tx, caller.tenantId, [caller.userId]);
  await p.senderNotices.mailLink(tx, sender, { token, requestedBy: user?.email ?? caller.userId });
}

/**
 * Changes the name of a sender, or which sender is the default. Members left out keep their value.
 * @throws NOTIFICATION_SENDER_NOT_FOUND, PRECONDITION_FAILED, NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT for a default
 */
export async function updateSender(
  sql: Sql,
  caller: TenantCaller,
  id: string,
  change: { name?: string | null | undefined; isDefault?: boolean | undefined },
  ifMatch: string | null,
): Promise<Sender> {
  const { tenantId } = caller;
  return await transact(sql, async (tx) => {
    await lockSenders(tx, tenantId);
    const before = await readSender(tx, tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    const { name = before.name, isDefault = before.isDefault } = change;
    if (isDefault && !before.isDefault && before.status !== "Verified") {
      throw problem(
        "NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT",
        `The sender ${before.address} is ${before.status}; only a verified one can be the default.`,
      );
    }
    if (name === before.name && isDefault === before.isDefault) return before;
    if (isDefault && !before.isDefault) await replaceDefault(tx, before);
    const members = tx`name = ${name}, is_default = ${isDefault}, version = version + 1`;
    const after = await writeSender(tx, id, members);
    await auditSender(tx, caller, "update", after, before);
    return after;
  });
}

/** Takes the default from another sender of the tenant, whose senders are locked. */
export async function replaceDefault(tx: Tx, { id, tenantId }: Sender): Promise<void> {
  await tx`update notification_senders set is_default = false, version = version + 1
    where tenant_id = ${tenantId} and is_default and id <> ${id}`;
}

/** Writes members of a locked sender and clears the looks from the caches of all instances. */
export async function writeSender(tx: Tx, id: string, members: SqlPart): Promise<Sender> {
  const [row] = await tx<Sender[]>`
    update notification_senders set ${members} where id = ${id} returning ${senderColumns(tx)}`;
  if (!row) throw new Error(`the sender ${id} is missing although it is locked`);
  announceChange(tx, { topic: "looks", ids: [row.tenantId] });
  return row;
}

/** Deletes a sender. @throws NOTIFICATION_SENDER_NOT_FOUND, PRECONDITION_FAILED */
export async function removeSender(
  sql: Sql,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const before = await readSender(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    await tx`delete from notification_senders where id = ${id}`;
    announceChange(tx, { topic: "looks", ids: [caller.tenantId] });
    await auditSender(tx, caller, "remove", null, before);
  });
}

/** Writes the audit row of a change. @param after null: it was deleted */
export async function auditSender(
  tx: Tx,
  actor: Actor,
  verb: string,
  after: Sender | null,
  before?: Sender,
): Promise<void> {
  const shown = (sender: Sender | null | undefined) =>
    sender && {
      address: sender.address,
      name: sender.name,
      method: sender.method,
      status: sender.status,
      isDefault: sender.isDefault,
    };
  const target = after ?? before;
  await recordAudit(tx, actor, `notification-sender.${verb}`, target?.id ?? "", {
    tenantId: target?.tenantId ?? null,
    before: shown(before),
    after: shown(after),
  });
}
