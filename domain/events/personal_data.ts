import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { eraseAddresses } from "../shared/erase_text.ts";
import { eraseRows, type PersonalData } from "../shared/personal_data.ts";
import { passOver } from "../shared/batches.ts";

const ROWS_AT_ONCE = 5_000;

/** Events about a person, and what was sent of them. Events and deliveries are kept for 30 days at most. */
export const eventPersonalData: PersonalData = {
  area: "events",
  async eraseUsers({ sql }, persons) {
    const { userIds } = persons;
    await eraseNames(sql, {
      table: "events",
      isAbout:
        sql`type like 'user.%' and data::jsonb ? 'email' and data ->> 'userId' = any(${userIds}::text[])`,
      change: sql`data = (data::jsonb || ${NO_NAMES}::text::jsonb)::json`,
    });
    await eraseNames(sql, {
      table: "webhook_deliveries",
      isAbout: sql`event_type like 'user.%' and strpos(body, '"email"') > 0
        and body::json -> 'data' ->> 'userId' = any(${userIds}::text[])`,
      change:
        sql`body = jsonb_set(body::jsonb, '{data}', (body::jsonb -> 'data') || ${NO_NAMES}::text::jsonb)::text`,
    });
    await eraseAddresses(sql, persons, [
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
const NO_NAMES = '{"email":"","firstName":"","lastName":""}';

async function eraseNames(
  sql: Sql,
  { table, isAbout, change }: { table: string; isAbout: SqlPart; change: SqlPart },
): Promise<void> {
  await passOver(ROWS_AT_ONCE, async (after) => {
    const rows = await sql<{ id: string; isAbout: boolean }[]>`
      select id, ${isAbout} as is_about from ${
      sql(table)
    } where id > ${after} order by id limit ${ROWS_AT_ONCE}`;
    const ids = rows.filter((row) => row.isAbout).map(({ id }) => id);
    await sql`update ${sql(table)} set ${change} where id = any(${ids}::uuid[])`;
    return rows;
  });
}
