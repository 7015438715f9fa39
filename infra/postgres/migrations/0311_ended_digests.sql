-- Retention deletes the digests that have ended.
create index notification_digests_ended on notification_digests (settled_at) where settled_at is not null;
