-- Previous version: may run.
-- The tenants whose rows an archive has, so that a report of a tenant reads only its archives. Null: written before, by any.
alter table archives add column tenant_ids uuid[];
