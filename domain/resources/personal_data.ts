import { untilDone } from "../shared/batches.ts";
import { ERASED_AT_ONCE, type PersonalData } from "../shared/personal_data.ts";

/** The tenant's products and settings. They contain no data of persons. */
export const resourcePersonalData: PersonalData = {
  area: "resources",
  tenant: {
    applications: (q, tenantId) =>
      q`
      select id, code, name, description, is_active, created_at, deleted_at from applications
      where tenant_id = ${tenantId} order by id`,
    settings: (q, tenantId) =>
      q`
      select id, key, value, description, created_at from settings where tenant_id = ${tenantId} order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    for (const table of ["applications", "settings"]) {
      await untilDone(() =>
        sql`delete from ${sql(table)} where id = any(array(
          select id from ${sql(table)} where tenant_id = ${tenantId} limit ${ERASED_AT_ONCE}))`
      );
    }
  },
};
