-- Also settled digests are found by their mail: a mail that failed may be retried.
create index notification_digests_of_mail on notification_digests (notification_id) where notification_id is not null;
drop index notification_digests_notification;
