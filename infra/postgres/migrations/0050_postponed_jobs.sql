-- Why the last attempt of a job was postponed; null if it was not. A postponed job is Scheduled.
alter table jobs add column wait_reason text;
