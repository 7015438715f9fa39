-- The file registry: metadata only; content lives in the object store under keys that tell nothing.
create type file_status as enum ('Pending', 'Scanning', 'Available', 'Infected', 'Failed', 'Purged');
create type retention_class as enum ('Temporary', 'Standard', 'Permanent');

create table files (
  id uuid primary key,
  tenant_id uuid,
  profile text not null,
  file_name text not null,
  declared_content_type text not null,
  detected_content_type text,
  size_bytes bigint not null,
  sha256 text,
  status file_status not null default 'Pending',
  staging_key text not null unique,
  final_key text not null unique,
  staged_etag text,
  final_etag text,
  retention_class retention_class not null default 'Standard',
  retain_until timestamptz,
  legal_hold boolean not null default false,
  purge_reason text,
  purged_at timestamptz,
  purged_by uuid,
  rejection_code text,
  signature_name text,
  created_by uuid,
  created_at timestamptz not null default now(),
  upload_expires_at timestamptz not null,
  completed_at timestamptz,
  available_at timestamptz,
  last_released_at timestamptz,
  version integer not null default 1,
  constraint files_size_positive check (size_bytes >= 0),
  constraint files_purged_says_why check
    ((status = 'Purged') = (purge_reason is not null and purged_at is not null)),
  constraint files_available_was_scanned check (status <> 'Available' or (sha256 is not null and available_at is not null)),
  constraint files_permanent_has_no_end check (retention_class <> 'Permanent' or retain_until is null),
  constraint files_temporary_has_an_end check (retention_class <> 'Temporary' or retain_until is not null)
);
create index files_tenant on files (tenant_id, id);
create index files_pending on files (upload_expires_at) where status = 'Pending';
create index files_scanning on files (completed_at) where status = 'Scanning';
create index files_collectable on files (retain_until) where status = 'Available' and retention_class <> 'Permanent';

create table file_references (
  id uuid primary key,
  file_id uuid not null references files (id),
  scope text not null,
  owner_id text not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  constraint file_references_pair_unique unique (file_id, scope, owner_id)
);

create table file_scan_attempts (
  file_id uuid not null references files (id),
  attempt_number integer not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  engine text,
  database_version text,
  verdict text not null,
  detected_content_type text,
  signature_name text,
  error_message text,
  constraint file_scan_attempts_pkey primary key (file_id, attempt_number),
  constraint file_scan_attempts_verdict_known check (verdict in ('Clean', 'Infected', 'TypeRejected', 'Error'))
);
