-- The migrations of extensions that were applied. Each extension numbers its own, so they never collide with the
-- service's. The tables of an extension are in the schema of its name.
create table extension_migrations (
  extension text not null,
  version integer not null,
  name text not null,
  sha256 text not null,
  applied_at timestamptz(3) not null default now(),
  constraint extension_migrations_pkey primary key (extension, version)
);
