-- Permission codes are `action:resource`, and both parts may begin with a digit and have dots and underscores. A code without
-- a colon is older than this rule: it stays, and the service makes no other.
alter table permissions drop constraint permissions_code_form;
alter table permissions add constraint permissions_code_form
  check (code ~ '^[a-z0-9][a-z0-9._-]*(:[a-z0-9][a-z0-9._-]*)?$');
