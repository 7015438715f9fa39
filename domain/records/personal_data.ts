import { eraseRows, type PersonalData } from "../shared/personal_data.ts";
import { RECORDS } from "./records.ts";

/** The records of the tenant, each in a file of its export. They contain no data of the service's users. */
export const recordPersonalData: PersonalData = {
  area: "resources",
  tenant: Object.fromEntries(RECORDS.map(({ many, table, members, softDeleted }) => [
    many,
    (q, tenantId) => {
      const columns = ["id", ...members.map(({ column }) => column), "created_at"];
      return q`select ${q([...columns, ...softDeleted ? ["deleted_at"] : []])} from ${q(table)}
        where tenant_id = ${tenantId} order by id`;
    },
  ])),
  async eraseTenant({ sql }, tenantId) {
    for (const { table } of RECORDS.toReversed()) await eraseRows(sql, table, sql`tenant_id = ${tenantId}`);
  },
};
