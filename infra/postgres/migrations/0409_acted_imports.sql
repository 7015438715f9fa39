-- Previous version: may run.
-- The user who acted as the creator of an import, for the audit rows that its job writes.
alter table user_imports add column acted_by uuid;
