const NO_TENANT = "00000000-0000-0000-0000-000000000000";

/** A tenant as unique keys have it, to which no two nulls are alike. */
export const tenantKeyOf = (tenantId: string | null): string => tenantId ?? NO_TENANT;

/** The tenant of a key; null where there is none. */
export const tenantOfKey = (key: string): string | null => key === NO_TENANT ? null : key;
