-- Permission codes are `action:resource` or names with dots, such as `orders.approve`.
alter table permissions drop constraint permissions_code_form;
alter table permissions add constraint permissions_code_form
  check (code ~ '^[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*|(\.[a-z][a-z0-9-]*)+)$');
