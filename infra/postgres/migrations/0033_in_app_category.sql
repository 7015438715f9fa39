-- A user's in-app notifications of a category, whatever the letter case of its name, as with preferences.
create index user_notifications_category_name on user_notifications (user_id, lower(category), seq);
drop index user_notifications_category;
