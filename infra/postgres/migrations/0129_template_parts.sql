-- Layouts and partials are templates too. A message pins the versions of those that its template uses.
alter table notification_templates
  add column kind text not null default 'Template',
  -- the layout around the template
  add column layout_slug text,
  -- texts of the function t, by language and key
  add column texts jsonb,
  -- the partials that it names itself
  add column part_slugs text[] not null default '{}',
  add constraint notification_templates_kind check (kind in ('Template', 'Layout', 'Partial')),
  add constraint notification_templates_layout check (layout_slug is null or kind = 'Template');
alter table notification_template_versions
  add column kind text not null default 'Template',
  add column layout_slug text,
  add column texts jsonb,
  add column part_slugs text[] not null default '{}';
alter table notifications add column template_pins jsonb;

create or replace function keep_template_version() returns trigger language plpgsql as $$
begin
  insert into notification_template_versions (template_id, version, name, locale, subject_template,
    html_body_template, text_body_template, required_variables, changed_at, changed_by, kind, layout_slug, texts, part_slugs)
  values (new.id, new.version, new.name, new.locale, new.subject_template, new.html_body_template,
    new.text_body_template, new.required_variables, clock_timestamp(), new.changed_by, new.kind, new.layout_slug,
    new.texts, new.part_slugs);
  return null;
end $$;
