-- Exports and erasures of users and tenants. Their rows of a person or tenant are found by each area; see
-- domain/user_data/README.md.
alter table users add column erased_at timestamptz(3);
alter table tenants add column erased_at timestamptz(3);

create table data_requests (
  id uuid primary key,
  kind text not null,
  user_id uuid,
  -- Of a tenant: which one. Of a user: the only tenant whose data is exported.
  tenant_id uuid,
  status text not null default 'Queued',
  step text,
  reason text,
  -- What the erasure searches for; removed when it has ended.
  addresses text[],
  file_id uuid,
  error_message text,
  requested_by uuid,
  -- The tenant context of the caller, in which the status can be read.
  context_tenant_id uuid,
  job_id uuid,
  -- The erasure of the tenant that this erasure of a user is a part of.
  parent_id uuid,
  created_at timestamptz(3) not null default now(),
  completed_at timestamptz(3),
  constraint data_requests_kind_known check (kind in ('UserExport', 'UserErasure', 'TenantExport', 'TenantErasure')),
  constraint data_requests_status_known check (status in ('Queued', 'Running', 'Completed', 'Failed')),
  constraint data_requests_ended check ((status in ('Completed', 'Failed')) = (completed_at is not null)),
  constraint data_requests_addresses_while_open check (addresses is null or status <> 'Completed')
);
create unique index data_requests_one_user_erasure on data_requests (user_id) where kind = 'UserErasure';
create unique index data_requests_one_tenant_erasure on data_requests (tenant_id) where kind = 'TenantErasure';
create index data_requests_parts on data_requests (parent_id, id) where parent_id is not null and status <> 'Completed';
create index data_requests_user on data_requests (user_id, id) where user_id is not null;
create index data_requests_tenant on data_requests (tenant_id, id) where tenant_id is not null;
