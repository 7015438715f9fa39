import { z } from "zod";
import { mailDomain } from "../../infra/mail/mail_address.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { time } from "../shared/shapes.ts";
import { readPage } from "../shared/lists.ts";

export const SENDER_METHODS = ["Dns", "Mail"] as const;
export type SenderMethod = typeof SENDER_METHODS[number];

/** An address that a tenant sends mail from, once it is verified, as callers see it. */
export const SenderDto = z.object({
  id: z.guid(),
  address: z.string(),
  // The name that mail programs show; null: the tenant's product name.
  name: z.string().nullable(),
  method: z.enum(SENDER_METHODS),
  status: z.enum(["Pending", "Verified", "Failed"]),
  isDefault: z.boolean().describe("Mails that name no sender come from it while it is verified"),
  dnsRecord: z.object({ name: z.string(), value: z.string() }).nullable()
    .describe("The TXT record that proves the domain; null for a sender verified by mail"),
  proofEndsAt: time.nullable().describe("While it is pending: until when it can be proved"),
  lastError: z.string().nullable(),
  checkedAt: time.nullable(),
  verifiedAt: time.nullable(),
  createdAt: time,
}).meta({ id: "NotificationSenderDto" });

/** A stored sender. */
export interface Sender extends Omit<z.output<typeof SenderDto>, "dnsRecord" | "proofEndsAt"> {
  tenantId: string;
  /** The expected TXT record; null for a sender verified by mail. */
  dnsValue: string | null;
  /** The end of the time in which a pending sender can be verified. */
  proofEndsAt: Date;
  misses: number;
  version: number;
}

export const senderColumns = (q: Sql) =>
  q`id, tenant_id, address, name, method, status, is_default, dns_value, proof_ends_at, misses, last_error, checked_at,
    verified_at, created_at, version`;

/** The name of the TXT record that proves a sender. */
export const recordName = ({ address }: Pick<Sender, "address">): string => `_steward.${mailDomain(address)}`;

/** A sender of the tenant. @throws NOTIFICATION_SENDER_NOT_FOUND */
export async function readSender(q: Sql, tenantId: string, id: string, lock = q``): Promise<Sender> {
  const [row] = await q<Sender[]>`
    select ${senderColumns(q)} from notification_senders
    where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (!row) throw problem("NOTIFICATION_SENDER_NOT_FOUND", `There is no sender ${id} in this tenant.`);
  return row;
}

/** A page of the tenant's senders, oldest first. */
export async function listSenders(q: Sql, tenantId: string, page: PageRequest): Promise<PagedResult<Sender>> {
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
