-- Document templates have texts by language and use the partials of message templates. An execution pins the language and
-- the versions of the partials of the time it was accepted.
alter table document_templates
  -- texts of the function t, by language and key
  add column texts jsonb,
  -- the partials that it names itself
  add column part_slugs text[] not null default '{}';
alter table document_template_versions
  add column texts jsonb,
  add column part_slugs text[] not null default '{}';
alter table report_executions add column document_pins jsonb;

create or replace function keep_document_template_version() returns trigger language plpgsql as $$
begin
  insert into document_template_versions (template_id, tenant_id, version, name, locale, title_template, body_template,
    required_variables, sample_data, texts, part_slugs, changed_at, changed_by)
  values (new.id, new.tenant_id, new.version, new.name, new.locale, new.title_template, new.body_template,
    new.required_variables, new.sample_data, new.texts, new.part_slugs, clock_timestamp(), new.changed_by);
  return null;
end $$;
