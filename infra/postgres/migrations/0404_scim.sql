-- Previous version: may run.
-- SCIM: what a tenant's directory keeps about its users and roles, and in which tenant a user was deleted, so that this
-- tenant may give the address to a new user.
create table scim_users (
  user_id uuid,
  tenant_id uuid,
  attributes jsonb not null,
  primary key (user_id, tenant_id),
  constraint scim_users_link foreign key (user_id, tenant_id) references user_tenants (user_id, tenant_id) on delete cascade,
  constraint scim_users_attributes_object check (jsonb_typeof(attributes) = 'object')
);

-- A role without a row is a group of its own name. Hidden by the directory: it has deleted the group; the role stays.
create table scim_groups (
  role_id uuid primary key references roles (id) on delete cascade,
  display_name text,
  external_id text,
  hidden_by text,
  constraint scim_groups_hidden_by check (hidden_by in ('administrator', 'directory'))
);

alter table users add column deleted_in_tenant_id uuid;
