-- The time zone of a tenant's reports. A tenant may set it without a fallback locale.
alter table notification_settings alter column default_locale drop not null, add column time_zone_id text;
