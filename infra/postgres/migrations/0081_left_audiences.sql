-- When a client last changed to another audience. Its former tokens may still be valid then, so no other owner gets the
-- audience for a day.
alter table oauth_audiences add column left_at timestamptz(3);
