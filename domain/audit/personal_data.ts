import type { Sql } from "../../infra/postgres/postgres.ts";
import { passOver, untilDone } from "../shared/batches.ts";
import { ERASED_AT_ONCE, type ErasedPersons, ofTenant, type PersonalData } from "../shared/personal_data.ts";
import { addressSubject, splitPersonal } from "./personal_values.ts";

/** Rows that one statement searches for values. */
const SEARCHED_AT_ONCE = 5_000;

/** Audit rows by and about a person. The rows stay, because the log is append-only; their personal values go. */
export const auditPersonalData: PersonalData = {
  area: "audit",
  user: {
    "audit-log": (q, { userId, tenantId }) =>
      q`
      select a.id, a.at, a.actor_id, a.tenant_id, a.action, a.target_type, a.target_id, a.trace_id, a.api_key_id,
        with_personal_values(a.before, v.before) as before, with_personal_values(a.after, v.after) as after,
        case when a.actor_id = ${userId} then coalesce(a.ip, v.ip) end as ip
      from audit_log a left join audit_values v on v.audit_id = a.id
      where (a.actor_id = ${userId} or a.target_type = 'user' and a.target_id = ${userId})
        and ${ofTenant(q, tenantId, "a.tenant_id")}
      order by a.id`,
  },
  tenant: {
    "audit-log": (q, tenantId) =>
      q`
      select a.id, a.at, a.actor_id, a.action, a.target_type, a.target_id, a.trace_id, a.api_key_id,
        with_personal_values(a.before, v.before) as before, with_personal_values(a.after, v.after) as after,
        coalesce(a.ip, v.ip) as ip
      from audit_log a left join audit_values v on v.audit_id = a.id
      where a.tenant_id = ${tenantId} order by a.id`,
  },
  async eraseUsers({ sql }, persons) {
    await eraseValuesAbout(sql, persons);
    await eraseAddressesOfActors(sql, persons.userIds);
    await eraseInlineValues(sql, persons);
  },
  async eraseTenant({ sql }, tenantId) {
    await passOver(ERASED_AT_ONCE, async (after) => {
      const rows = await sql<{ id: string }[]>`
        select id from audit_log where tenant_id = ${tenantId} and id > ${after} order by id limit ${ERASED_AT_ONCE}`;
      const ids = rows.map(({ id }) => id);
      await sql`update audit_values set before = null, after = null, ip = null, subjects = '{}', erased_at = now()
        where audit_id = any(${ids}::uuid[]) and erased_at is null`;
      await removeInline(sql, await readInline(sql, ids), true);
      return rows;
    });
  },
};

/** The emails and telephone numbers that a user had before changes, as far as the audit log still has them. */
export async function formerAddresses(q: Sql, userId: string): Promise<string[]> {
  const rows = await q<{ address: string }[]>`
    select distinct f.address from audit_values v join audit_log a on a.id = v.audit_id,
      unnest(array[v.before ->> 'email', v.before ->> 'phoneNumber']) f (address)
    where v.subjects @> ${[userId]}::text[] and v.subjects <> '{}'
      and a.target_type = 'user' and a.target_id = ${userId} and f.address is not null`;
  return rows.map(({ address }) => address);
}

async function eraseValuesAbout(sql: Sql, { userIds, addresses, beforeId }: ErasedPersons): Promise<void> {
  const subjects = [...userIds, ...addresses.map(addressSubject)];
  await untilDone(() =>
    sql`update audit_values set before = null, after = null, subjects = '{}', erased_at = now()
      where audit_id = any(array(select audit_id from audit_values
        where subjects && ${subjects}::text[] and subjects <> '{}'
          and (audit_id < ${beforeId} or subjects && ${userIds}::text[]) limit ${ERASED_AT_ONCE}))`
  );
}

/** Erases the IP addresses of persons in the rows of what they did. */
async function eraseAddressesOfActors(sql: Sql, userIds: string[]): Promise<void> {
  await passOver(ERASED_AT_ONCE, async (after) => {
    const rows = await sql<{ id: string }[]>`
      select id from audit_log where actor_id = any(${userIds}::uuid[]) and id > ${after} order by id limit ${ERASED_AT_ONCE}`;
    const ids = rows.map(({ id }) => id);
    await sql`update audit_values set ip = null, erased_at = now()
      where audit_id = any(${ids}::uuid[]) and ip is not null`;
    return rows;
  });
}

interface InlineRow {
  id: string;
  actorId: string | null;
  targetType: string;
  targetId: string;
  before: unknown;
  after: unknown;
  ip: string | null;
}

const readInline = (q: Sql, ids: string[]) =>
  q<InlineRow[]>`select id, actor_id, target_type, target_id, before, after, ip from audit_log
    where id = any(${ids}::uuid[]) and not values_apart`;

/** Erases values in rows of earlier versions, which have them inline. */
async function eraseInlineValues(q: Sql, { userIds, addresses }: ErasedPersons): Promise<void> {
  await passOver(SEARCHED_AT_ONCE, async (after) => {
    const rows = await q<{ id: string; isAbout: boolean }[]>`
      select id, (actor_id = any(${userIds}::uuid[])) is true or target_type = 'user' and target_id = any(${userIds}::text[])
          or exists (
          select from unnest(${addresses.map(addressSubject)}::text[]) address
          where strpos(lower(concat(before::text, ' ', after::text)), address) > 0) as is_about
      from audit_log where not values_apart and id > ${after} order by id limit ${SEARCHED_AT_ONCE}`;
    const found = rows.filter(({ isAbout }) => isAbout).map(({ id }) => id);
    await removeInline(q, await readInline(q, found), false, userIds);
    return rows;
  });
}

/** @param ofTenant true: the addresses of all actors; false: only those of `userIds` */
async function removeInline(
  sql: Sql,
  rows: InlineRow[],
  ofTenant: boolean,
  userIds: string[] = [],
): Promise<void> {
  for (const row of rows) {
    const isActorOnly = !ofTenant && row.targetType === "user" && !userIds.includes(row.targetId);
    const kept = (value: unknown) => isActorOnly ? value : splitPersonal(row.targetType, value).kept;
    const text = (value: unknown) => value === null ? null : JSON.stringify(value);
    await sql`update audit_log set before = ${text(kept(row.before))}::text::jsonb,
      after = ${text(kept(row.after))}::text::jsonb,
      ip = case when ${
      ofTenant || userIds.includes(row.actorId ?? "")
    } then null else ip end where id = ${row.id}`;
    await sql`insert into audit_values (audit_id, erased_at) values (${row.id}, now()) on conflict do nothing`;
  }
}
