import { ofTenant, type PersonalData } from "../shared/personal_data.ts";

/** Saved filters and tasks on lists. Their filters may contain addresses. */
export const consolePersonalData: PersonalData = {
  area: "console",
  user: {
    "saved-filters": (q, { userId }) =>
      q`
      select list, name, query, created_at from console_saved_filters where user_id = ${userId} order by list, slot`,
    "list-tasks": (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, kind, list, query, action, total, refused, status, created_at, ended_at
      from console_list_tasks where user_id = ${userId} and ${ofTenant(q, tenantId)} order by id`,
  },
  async eraseUsers({ sql }, { userIds }) {
    await sql`delete from console_saved_filters where user_id = any(${userIds}::uuid[])`;
    await sql`delete from console_list_tasks where user_id = any(${userIds}::uuid[])`;
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from console_list_tasks where tenant_id = ${tenantId}`;
  },
};
