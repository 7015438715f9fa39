-- Who set a legal hold, when and why; null for holds that are older than these columns.
alter table files
  add column legal_hold_by uuid,
  add column legal_hold_since timestamptz(3),
  add column legal_hold_reason text;

-- Why a purged file has no content: the service rejected it, it expired, or it was purged on request.
create function file_purge_kind(reason text) returns text language sql immutable as $$
  select case
    when reason in ('job:tipo-reprovado', 'job:archive-limits', 'job:size-mismatch') then 'Rejected'
    when reason in ('job:upload-expired', 'job:retention-expired') then 'Expired'
    when reason is not null then 'Purged'
  end
$$;
create index files_by_purge_kind on files (tenant_id, file_purge_kind(purge_reason), id) where status = 'Purged';
