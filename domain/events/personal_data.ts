import type { Sql } from "../../infra/postgres/postgres.ts";
import { eraseAddresses } from "../shared/erase_text.ts";
import { eraseRows, type PersonalData } from "../shared/personal_data.ts";
import { passOver } from "../shared/batches.ts";

const ROWS_AT_ONCE = 5_000;

/** Events about a person, and what was sent of them. Events and deliveries are kept for 30 days at most. */
export const eventPersonalData: PersonalData = {
  area: "events",
  async eraseUsers({ sql }, { userIds, addresses }) {
    await eraseEvents(sql, userIds);
    await eraseDeliveries(sql, userIds);
    await eraseAddresses(sql, addresses, [
      { table: "events", columns: { data: "json" } },
      { table: "webhook_deliveries", columns: { body: "text" } },
      { table: "webhook_endpoints", columns: { pause_reason: "text", last_error: "text" } },
      {
        table: "webhook_attempts",
        key: { delivery_id: "uuid", number: "integer" },
        columns: { error: "text", answer: "text" },
      },
    ]);
  },
  tenant: {
    events: (q, tenantId) =>
      q`select id, type, data, occurred_at from events where tenant_id = ${tenantId} order by id`,
    "webhook-endpoints": (q, tenantId) =>
      q`select id, url, description, event_types, is_active, created_by, created_at from webhook_endpoints
      where tenant_id = ${tenantId} and deleted_at is null order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    const endpoints = sql`select id from webhook_endpoints where tenant_id = ${tenantId}`;
    await eraseRows(sql, "webhook_deliveries", sql`endpoint_id in (${endpoints})`);
    await sql`delete from webhook_endpoints where tenant_id = ${tenantId}`;
    await eraseRows(sql, "events", sql`tenant_id = ${tenantId}`);
    await sql`delete from event_keys where tenant_id = ${tenantId}`;
    await sql`delete from event_interests where tenant_id = ${tenantId}`;
  },
};

/** Of the built-in events about the person, only the id stays. */
const withoutNames = `(%::jsonb || '{"email":"","firstName":"","lastName":""}'::jsonb)`;

async function eraseEvents(sql: Sql, userIds: string[]): Promise<void> {
  const erased = withoutNames.replace("%", "data");
  await passOver(ROWS_AT_ONCE, async (after) => {
    const rows = await sql<{ id: string; isAbout: boolean }[]>`
      select id, type like 'user.%' and data::jsonb ? 'email' and data ->> 'userId' = any(${userIds}::text[]) as is_about
      from events where id > ${after} order by id limit ${ROWS_AT_ONCE}`;
    const ids = rows.filter(({ isAbout }) => isAbout).map(({ id }) => id);
    await sql`update events set data = ${sql.unsafe(erased)}::json where id = any(${ids}::uuid[])`;
    return rows;
  });
}

async function eraseDeliveries(q: Sql, userIds: string[]): Promise<void> {
  const erased = withoutNames.replace("%", "(body::jsonb -> 'data')");
  await passOver(ROWS_AT_ONCE, async (after) => {
    const rows = await q<{ id: string; isAbout: boolean }[]>`
      select id, event_type like 'user.%' and strpos(body, '"email"') > 0
          and body::json -> 'data' ->> 'userId' = any(${userIds}::text[]) as is_about
      from webhook_deliveries where id > ${after} order by id limit ${ROWS_AT_ONCE}`;
    const ids = rows.filter(({ isAbout }) => isAbout).map(({ id }) => id);
    await q`update webhook_deliveries
      set body = jsonb_set(body::jsonb, '{data}', ${q.unsafe(erased)})::text where id = any(${ids}::uuid[])`;
    return rows;
  });
}
