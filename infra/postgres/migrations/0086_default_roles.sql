-- Grants that the service or an extension declares cannot be removed over the API; others are set there.
alter table default_role_permissions add column is_declared boolean not null default true;
create index default_role_permissions_by_code on default_role_permissions (permission_code);
