-- What the engine knew when it examined a file. A file of an earlier generation than the engine's is examined again.
create table scan_generations (
  id integer generated always as identity primary key, -- in the order in which they were first seen
  engine text not null,
  database_version text not null, -- empty where the engine names none
  round integer not null default 0, -- above 0: somebody asked for everything to be examined again
  seen_at timestamptz not null default now(),
  -- Until then a walk over the outdated files is under way, or rests; null: there is none.
  walk_until timestamptz,
  -- The batch the walk is at; a job that carries another number was overtaken.
  walk_batch integer not null default 0,
  constraint scan_generations_seen_once unique (engine, database_version, round)
);

alter table files
  add column scan_generation integer not null default 0, -- of the last clean examination; 0: before there were any
  add column owners_told_at timestamptz; -- that a later examination found a signature

insert into scan_generations (engine, database_version)
select engine, coalesce(database_version, '') from file_scan_attempts
where verdict = 'Clean' and engine is not null
group by 1, 2 order by max(completed_at);

update files f set scan_generation = g.id
from file_scan_attempts a join scan_generations g
  on g.engine = a.engine and g.database_version = coalesce(a.database_version, '')
where f.status = 'Available' and a.file_id = f.id and a.verdict = 'Clean'
  and a.attempt_number = (select max(attempt_number) from file_scan_attempts where file_id = f.id and verdict = 'Clean');

create index files_outdated on files (scan_generation, id) where status = 'Available';
