-- Previous version: may run.
-- A page of tenants by creation or of one type, and the invitations of an address, are read from an index. The users of a
-- tenant are counted as its links without those of deleted users.
create index tenants_by_created on tenants (created_at, id);
create index tenants_by_type on tenants (type, same_text(name), id) where deleted_at is null;
create index invitations_by_email on invitations (tenant_id, mail_key(email));
create index users_deleted on users (id) where deleted_at is not null;
