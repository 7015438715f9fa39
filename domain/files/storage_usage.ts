import type { Sql } from "../../infra/postgres/postgres.ts";

/**
 * SQL: the stored bytes of each tenant, with its renditions; all zeros for product files. It reads every file, so only a job
 * in the background runs it.
 */
export const storageByTenant = (q: Sql) =>
  q`
  select coalesce(f.tenant_id, '00000000-0000-0000-0000-000000000000') as tenant_key, sum(f.bytes)::bigint as bytes from (
    select tenant_id, size_bytes as bytes from files where status not in ('Pending', 'Purged')
    union all
    select f.tenant_id, r.size_bytes from file_renditions r join files f on f.id = r.file_id where r.status = 'Ready') f
  group by 1`;
