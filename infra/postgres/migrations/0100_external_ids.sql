-- The id of a user in another system, per link; and data that other systems keep about a user.
alter table user_tenants add column external_id text,
  add constraint user_tenants_external_id_length check (char_length(external_id) between 1 and 200);
-- Finds a link by its external id in one tenant and in all tenants.
create unique index user_tenants_external_id_unique on user_tenants (external_id, tenant_id)
  where external_id is not null;
alter table users add column metadata jsonb not null default '{}',
  add constraint users_metadata_object check (jsonb_typeof(metadata) = 'object');

-- As before, and a deleted user gives up the external ids, so that the other system can use them for a new user.
create or replace function count_deleted_user() returns trigger language plpgsql as $$
begin
  update tenants t set user_count = user_count + case when new.deleted_at is null then 1 else -1 end
  from user_tenants l where l.user_id = new.id and l.tenant_id = t.id and l.is_active;
  if new.deleted_at is not null then
    delete from user_tenant_roles where user_id = new.id;
    update user_tenants set external_id = null where user_id = new.id and external_id is not null;
  end if;
  return null;
end $$;
