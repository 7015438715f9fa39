-- Whose a reference is: of a tenant's file that tenant's, of a product file the tenant's that made it. So tenants that
-- hold a product file by the same pair hold it each for itself, and neither sees, nor lets go of, the other's.
alter table file_references add column tenant_id uuid; -- null: the service's own

-- Of a product file's earlier references nobody wrote down which of its maker's tenants was meant: the only one counts.
update file_references r set tenant_id = coalesce(f.tenant_id, (
  select min(l.tenant_id::text)::uuid from user_tenants l where l.user_id = r.created_by having count(*) = 1))
from files f where f.id = r.file_id;

create unique index file_references_tenant_pair_unique on file_references
  (file_id, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), scope, owner_id) where released_at is null;
drop index file_references_pair_unique;
