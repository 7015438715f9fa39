const NO_TENANT = "00000000-0000-0000-0000-000000000000";

/** The tenant id for unique keys: the nil UUID stands for no tenant, because a unique key treats nulls as different. */
export const tenantKeyOf = (tenantId: string | null): string => tenantId ?? NO_TENANT;

/** The tenant id of a key; null for the nil UUID. */
export const tenantOfKey = (key: string): string | null => key === NO_TENANT ? null : key;
