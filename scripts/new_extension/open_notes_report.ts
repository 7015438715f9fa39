import { defineReport, instant, text, z } from "@steward/steward";

export const openNotesReport = defineReport({
  id: "sample-open-notes",
  name: "Open notes",
  description: "The tenant's notes that are not done",
  version: 1,
  permissions: ["write:sample-notes"],
  parameters: z.object({}),
  columns: { title: text("Title"), createdAt: instant("Created") },
  query: (sql, { tenantIds }) =>
    sql`
    select title, created_at from sample.notes
    where (${tenantIds}::uuid[] is null or tenant_id = any(${tenantIds}::uuid[])) and not is_done
    order by created_at, id`,
});
