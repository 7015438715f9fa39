-- Work of several steps makes things under an id of its key, so that whoever takes the key over finds them.
alter table idempotency_keys add column work_id uuid;
