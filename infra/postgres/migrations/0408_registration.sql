-- Previous version: may run.
-- Registration: who may join a tenant without an administrator, and who has asked to.
create table registration_settings (
  tenant_id uuid primary key references tenants (id),
  mode text not null,
  -- domains of email addresses, as mail_key() writes them
  domains text[] not null,
  -- the role of new users; null: none
  role_id uuid references roles (id),
  constraint registration_settings_mode check (mode in ('closed', 'invitation', 'domain', 'open')),
  constraint registration_settings_domains check (mode <> 'domain' or domains <> '{}')
);
create index registration_settings_by_role on registration_settings (role_id) where role_id is not null;
-- A registration is stored when it is asked for; its token when the mail is written. So jobs carry only the id.
create table registrations (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  email text not null,
  -- the network address that asked, as `addressKey` writes it
  address text not null,
  token_hash bytea,
  expires_at timestamptz(3) not null
);
create unique index registrations_token_unique on registrations (token_hash);
create index registrations_expiry on registrations (expires_at);
create index registrations_by_email on registrations (mail_key(email));
create index registrations_by_address on registrations (address);
create index registrations_by_tenant on registrations (tenant_id);
