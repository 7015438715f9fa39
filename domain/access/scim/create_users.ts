import { mailKey } from "../../../infra/mail/mail_address.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { invalidateCounts } from "../../shared/count_cache.ts";
import { newId } from "../../shared/ids.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { PlannedUser } from "../users/bulk/decide.ts";
import { writeUsers } from "../users/bulk/write_users.ts";
import { lockLinkTargets } from "../users/link_targets.ts";
import type { WantedUser } from "./user_resource.ts";
import type { ScimPlatform } from "./users.ts";

/** The most users that one transaction creates. */
export const CREATED_AT_ONCE = 100;

/**
 * Creates the first of these users for whom nothing has to be decided, with a fixed number of statements. The rest starts
 * with the first user whose email or external id is taken, who is inactive, or for whom the tenant has no room: that one is
 * for `createScimUser`, which refuses it or not.
 * @returns the ids of the created ones; null for one whose email another transaction has taken meanwhile
 */
export async function createFirstUsers(
  p: ScimPlatform,
  caller: TenantCaller,
  wanted: WantedUser[],
): Promise<(string | null)[]> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    const { tenants } = await lockLinkTargets(tx, [], [tenantId]);
    const tenant = tenants.get(tenantId);
    const room = tenant ? (tenant.maxUsers ?? Infinity) - tenant.userCount : 0;
    const first = wanted.slice(0, await countUndisputed(tx, tenantId, wanted, room));
    if (first.length === 0) return [];
    const planned = first.map((user, row) => plannedUser(user, tenantId, row));
    const leftOut = await writeUsers(p, tx, caller, planned);
    invalidateCounts(tx);
    const kept = planned.flatMap(({ userId: id, row }) => {
      const attributes = first[row]?.attributes ?? {};
      return leftOut.has(row) || Object.keys(attributes).length === 0 ? [] : [{ id, attributes }];
    });
    await tx`insert into scim_users (user_id, tenant_id, attributes)
      select id, ${tenantId}, attributes
      from json_to_recordset(${JSON.stringify(kept)}::text::json) as x (id uuid, attributes jsonb)`;
    return planned.map(({ userId: id, row }) => leftOut.has(row) ? null : id);
  });
}

/** The number of users before the first one for whom something has to be decided. */
async function countUndisputed(
  tx: Tx,
  tenantId: string,
  wanted: WantedUser[],
  room: number,
): Promise<number> {
  const emails = wanted.map(({ email }) => email);
  const externalIds = wanted.map(({ externalId }) => externalId);
  const [taken] = await tx<{ first: number | null }[]>`
    select min(nth)::int as first from unnest(${emails}::text[], ${externalIds}::text[]) with ordinality w (email, external_id, nth)
    where exists (select from users u where mail_key(u.email) = mail_key(w.email))
      or exists (select from user_tenants l where l.external_id = w.external_id and l.tenant_id = ${tenantId})`;
  const [seenEmails, seenIds] = [new Set<string>(), new Set<string>()];
  const repeated = wanted.findIndex(({ email, externalId, isActive }) => {
    const key = mailKey(email);
    if (!isActive || seenEmails.has(key) || externalId !== null && seenIds.has(externalId)) return true;
    seenEmails.add(key);
    if (externalId !== null) seenIds.add(externalId);
    return false;
  });
  return Math.min(
    taken?.first ? taken.first - 1 : wanted.length,
    repeated < 0 ? wanted.length : repeated,
    Math.max(room, 0),
  );
}

const plannedUser = (user: WantedUser, tenantId: string, row: number): PlannedUser => {
  const { email, firstName, lastName, phoneNumber, externalId } = user;
  return {
    row,
    userId: newId(),
    tenantId,
    email,
    created: { passwordHash: null },
    profile: { firstName, lastName, phoneNumber, isActive: true, metadata: {} },
    before: {},
    tenantIds: [tenantId],
    isNewLink: true,
    externalId: externalId ?? undefined,
    formerExternalId: null,
    given: [],
    taken: [],
  };
};
