-- A list of one channel merges its statuses from notifications_channel_status. So a message costs one index entry less when it
-- is inserted, and again at each of its changes.
drop index notifications_channel;
