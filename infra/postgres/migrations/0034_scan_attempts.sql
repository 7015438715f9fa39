-- An attempt that rejects a file may say why: an archive unpacks to too much, or is not what its directory says.
alter table file_scan_attempts
  drop constraint file_scan_attempts_error_says_why,
  add constraint file_scan_attempts_error_says_why check (verdict <> 'Error' or error_message is not null);
