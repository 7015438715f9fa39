-- When the texts and the template data of an old message were deleted. Its facts stay longer.
alter table notifications add column body_expired_at timestamptz(3);
