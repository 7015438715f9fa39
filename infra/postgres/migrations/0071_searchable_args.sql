-- Paths of the arguments by whose values the jobs of a declared type can be found; from `x-searchable` in its schema.
alter table job_types add column searchable_args text[] not null default '{}';
