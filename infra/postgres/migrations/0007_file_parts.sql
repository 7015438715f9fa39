-- Uploads by parts: until they are joined, the parts are kept at the store under the staging key and this id. The id is
-- told to nobody but inside signed URLs. Deleting the object ends the upload too, so nothing of it stays behind.
alter table file_objects
  add column upload_id text,
  add column part_count integer,
  add constraint file_objects_upload_has_parts check
    ((upload_id is null) = (part_count is null) and part_count > 0);
