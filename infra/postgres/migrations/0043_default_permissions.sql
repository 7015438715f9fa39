-- The permissions that a catalog role has in every tenant. They are granted when a tenant is created, and to the tenants
-- that already exist when the row is new.
create table default_role_permissions (
  role_name text not null,
  permission_code text not null,
  constraint default_role_permissions_pkey primary key (role_name, permission_code)
);
