import { mailDomain } from "../../infra/mail/mail_address.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { readPage } from "../shared/lists.ts";

export const SENDER_METHODS = ["Dns", "Mail"] as const;
export type SenderMethod = typeof SENDER_METHODS[number];

export const SENDER_STATUSES = ["Pending", "Verified", "Failed"] as const;
export type SenderStatus = typeof SENDER_STATUSES[number];

/** An address that a tenant sends mail from, once it is verified. */
export interface Sender {
  id: string;
  tenantId: string;
  address: string;
  /** The name that mail programs show; null: the tenant's product name. */
  name: string | null;
  method: SenderMethod;
  status: SenderStatus;
  /** True for the sender of mails that name no sender; it is used while it is verified. */
  isDefault: boolean;
  /** The expected TXT record; null for a sender verified by mail. */
  dnsValue: string | null;
  /** The end of the time in which a pending sender can be verified. */
  proofEndsAt: Date;
  misses: number;
  lastError: string | null;
  checkedAt: Date | null;
  verifiedAt: Date | null;
  createdAt: Date;
  version: number;
}

export const senderColumns = (q: Sql) =>
  q`id, tenant_id, address, name, method, status, is_default, dns_value, proof_ends_at, misses, last_error, checked_at,
    verified_at, created_at, version`;

/** The name of the TXT record that proves a sender. */
export const recordName = ({ address }: Pick<Sender, "address">): string => `_steward.${mailDomain(address)}`;

const senderNotFound = (id: string) =>
  problem("NOTIFICATION_SENDER_NOT_FOUND", `There is no sender ${id} in this tenant.`);

/** A sender of the tenant. @throws NOTIFICATION_SENDER_NOT_FOUND */
export async function readSender(q: Sql, tenantId: string, id: string, lock = q``): Promise<Sender> {
  const [row] = await q<Sender[]>`
    select ${
    senderColumns(q)
  } from notification_senders where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (!row) throw senderNotFound(id);
  return row;
}

/** A page of the tenant's senders, oldest first. */
export async function listSenders(
  q: Sql,
  tenantId: string,
  page: PageRequest,
): Promise<PagedResult<Sender>> {
  const from = q`notification_senders where tenant_id = ${tenantId}`;
  return await readPage(q, { columns: senderColumns(q), from, order: q`order by id` }, page);
}

/** The members of a verified sender that mails use. */
export type VerifiedSender = Pick<Sender, "address" | "name" | "isDefault">;

export const readVerifiedSenders = async (q: Sql, tenantId: string): Promise<VerifiedSender[]> => [
  ...await q<VerifiedSender[]>`
    select address, name, is_default from notification_senders
    where tenant_id = ${tenantId} and status = 'Verified' order by id`,
];
