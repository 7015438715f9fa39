-- Templates of documents such as invoices and letters, in the hands of a tenant. Every version is kept for good, because
-- executions name the version that they were requested with. A trigger writes it, so that no change can leave it out.
create table document_templates (
  id uuid primary key,
  tenant_id uuid not null,
  slug text not null,
  name text not null,
  locale text not null,
  title_template text not null,
  body_template text not null,
  required_variables text not null default '',
  sample_data jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  changed_by uuid
);
create unique index document_templates_slug_unique on document_templates (tenant_id, slug, lower(locale));

create table document_template_versions (
  id uuid primary key default gen_random_uuid(),
  template_id uuid not null,
  tenant_id uuid not null,
  version integer not null,
  name text not null,
  locale text not null,
  title_template text not null,
  body_template text not null,
  required_variables text not null,
  sample_data jsonb not null,
  changed_at timestamptz(3) not null,
  changed_by uuid,
  constraint document_template_versions_unique unique (template_id, version)
);
create index document_template_versions_tenant on document_template_versions (tenant_id);

create function keep_document_template_version() returns trigger language plpgsql as $$
begin
  insert into document_template_versions (template_id, tenant_id, version, name, locale, title_template, body_template,
    required_variables, sample_data, changed_at, changed_by)
  values (new.id, new.tenant_id, new.version, new.name, new.locale, new.title_template, new.body_template,
    new.required_variables, new.sample_data, clock_timestamp(), new.changed_by);
  return null;
end $$;
-- A change that does not increase the version violates the unique constraint and is refused.
create trigger document_templates_keep_version after insert or update on document_templates
  for each row execute function keep_document_template_version();
create function refuse_document_version_change() returns trigger language plpgsql as $$
begin
  raise exception 'versions of document templates never change' using errcode = 'insufficient_privilege';
end $$;
create trigger document_template_versions_fixed before update on document_template_versions
  for each statement execute function refuse_document_version_change();

-- The version that a document is made of; null for reports. Title and language are those of the document.
alter table report_executions add column document_version_id uuid;
