-- The running scans of Scanning files. A worker deletes its row when its scan ends or is aborted, also after it had lost the
-- database. So a row whose lease is gone means that the worker died during the scan, or has not come back yet.
create table file_scan_runs (
  job_id uuid not null,
  attempt_number integer not null,
  file_id uuid not null references files (id),
  worker_id uuid not null,
  -- True: the worker ran no other scan.
  is_alone boolean not null,
  -- True: a later attempt found the row without a lease.
  is_missed boolean not null default false,
  primary key (job_id, attempt_number)
);
create index file_scan_runs_file on file_scan_runs (file_id);
