-- The file registry: metadata only; content lives in the object store under keys that tell nothing.
-- See domain/files/README.md for the words and the drawing of the states.
create type file_status as enum ('Pending', 'Scanning', 'Available', 'Infected', 'Failed', 'Purged');
create type retention_class as enum ('Temporary', 'Standard', 'Permanent');

-- When retention lets go of an unreferenced file: a Temporary one on its date, a Standard one on its date (if any)
-- but not before 30 days after its last reference, or after its completion when nothing ever held it.
-- Days are added in UTC, which makes the sum independent of settings and thus immutable.
create function file_collect_at(
  class retention_class, retain_until timestamptz, last_released_at timestamptz, completed_at timestamptz
) returns timestamptz language sql immutable parallel safe as $$
  select case class
    when 'Temporary' then retain_until
    when 'Standard' then greatest(retain_until,
      (coalesce(last_released_at, completed_at) at time zone 'UTC' + interval '30 days') at time zone 'UTC')
  end
$$;

create table files (
  id uuid primary key,
  tenant_id uuid, -- null: a product file
  profile text not null,
  file_name text not null,
  declared_content_type text not null,
  detected_content_type text,
  size_bytes bigint not null,
  sha256 text,
  status file_status not null default 'Pending',
  -- What an upload URL names. Never read but to copy from, never served.
  staging_key text not null unique,
  staged_etag text,
  -- The copy that is examined and, once Available, served. Set once, written once before it is set.
  final_key text unique,
  final_etag text,
  retention_class retention_class not null default 'Standard',
  retain_until timestamptz,
  legal_hold boolean not null default false,
  reference_count integer not null default 0,
  last_released_at timestamptz,
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
  scan_due_at timestamptz, -- when the next word of a scan is expected; long past: its job is lost
  collect_at timestamptz generated always as
    (file_collect_at(retention_class, retain_until, last_released_at, completed_at)) stored,
  version integer not null default 1,
  constraint files_size_not_negative check (size_bytes >= 0),
  constraint files_reference_count_not_negative check (reference_count >= 0),
  constraint files_purged_says_why check
    ((status = 'Purged') = (purge_reason is not null and purged_at is not null)),
  constraint files_scanning_was_completed check
    (status <> 'Scanning' or (completed_at is not null and staged_etag is not null and scan_due_at is not null)),
  constraint files_available_was_scanned check
    (status <> 'Available' or (sha256 is not null and final_key is not null and available_at is not null)),
  constraint files_infected_says_by_what check
    (status <> 'Infected' or (sha256 is not null and signature_name is not null)),
  constraint files_permanent_has_no_end check (retention_class <> 'Permanent' or retain_until is null),
  constraint files_temporary_has_an_end check (retention_class <> 'Temporary' or retain_until is not null)
) with (fillfactor = 85);
create index files_tenant on files (tenant_id, id);
create index files_expiring on files (upload_expires_at) where status = 'Pending' and not legal_hold;
create index files_scanning on files (completed_at) where status = 'Scanning';
create index files_scan_due on files (scan_due_at) where status = 'Scanning';
create index files_collectable on files (collect_at)
  where status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
    and retention_class <> 'Permanent';

-- The one drawing of the states that nothing can get around.
create function require_file_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' and new.status = 'Pending' then return new; end if;
  if tg_op = 'UPDATE' and (old.status, new.status) in (
    ('Pending', 'Scanning'), ('Pending', 'Purged'),
    ('Scanning', 'Available'), ('Scanning', 'Infected'), ('Scanning', 'Failed'), ('Scanning', 'Purged'),
    ('Available', 'Purged'), ('Available', 'Infected'), ('Failed', 'Purged')
  ) then return new; end if;
  raise exception 'a file does not become % from %', new.status, case tg_op when 'UPDATE' then old.status end
    using errcode = 'check_violation', constraint = 'files_transition_known';
end $$;
create trigger files_initial_status before insert on files
  for each row execute function require_file_transition();
create trigger files_transition before update of status on files
  for each row when (old.status <> new.status) execute function require_file_transition();

-- Every object that may exist at the store: a row is written before the object and removed after it, so that nothing
-- is ever stored without a row that leads to it.
create table file_objects (
  key text primary key,
  file_id uuid not null references files (id),
  -- Until then somebody may still write under the key (an upload URL that has been given out): a deletion before
  -- that is done again afterwards.
  writable_until timestamptz,
  -- From then on the object is to be deleted; null: it is wanted.
  delete_at timestamptz
);
create index file_objects_file on file_objects (file_id);
create index file_objects_due on file_objects (delete_at) where delete_at is not null;

create table file_references (
  id uuid primary key,
  file_id uuid not null references files (id),
  scope text not null,
  owner_id text not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  released_at timestamptz -- kept, so that releasing twice is told from releasing what never was
);
create unique index file_references_pair_unique on file_references (file_id, scope, owner_id)
  where released_at is null;
create index file_references_owner on file_references (scope, owner_id) where released_at is null;

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
  -- An Error that is the content's and not the engine's; so many of them end in Failed.
  is_unreadable boolean not null default false,
  constraint file_scan_attempts_pkey primary key (file_id, attempt_number),
  constraint file_scan_attempts_verdict_known check (verdict in ('Clean', 'Infected', 'TypeRejected', 'Error')),
  constraint file_scan_attempts_error_says_why check ((verdict = 'Error') = (error_message is not null))
);
