import { eraseAddresses } from "../shared/erase_text.ts";
import type { PersonalData } from "../shared/personal_data.ts";

/** Imports, exports and erasures themselves. */
export const userDataPersonalData: PersonalData = {
  area: "user-data",
  user: {
    requests: (q, { userId }) =>
      q`
      select id, kind, tenant_id, status, reason, requested_by, created_at, completed_at from data_requests
      where user_id = ${userId} order by id`,
  },
  async eraseUsers({ sql }, { addresses }) {
    const key = { import_id: "uuid", row: "integer" } as const;
    await eraseAddresses(sql, { table: "user_import_rows", key, columns: { email: "text" } }, addresses);
    const columns = { reason: "text", error_message: "text" } as const;
    await eraseAddresses(sql, { table: "data_requests", key: { id: "uuid" }, columns }, addresses);
  },
  tenant: {
    imports: (q, tenantId) =>
      q`
      select id, status, is_dry_run, total, created, updated, failed, created_by, created_at, finished_at
      from user_imports where tenant_id = ${tenantId} order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from user_imports where tenant_id = ${tenantId}`;
  },
};
