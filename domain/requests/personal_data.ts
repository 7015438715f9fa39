import type { PersonalData } from "../shared/personal_data.ts";

/**
 * Stored answers of keyed requests, which are kept for 24 hours. An answer about the person loses its body: a repeat of
 * the request still does nothing, and gets the status without the body.
 */
export const requestPersonalData: PersonalData = {
  area: "requests",
  async eraseUsers({ sql }, { userIds, addresses }) {
    const needles = [...userIds, ...addresses.map((address) => address.toLowerCase())];
    await sql`update idempotency_keys set body = null
      where body is not null and exists (
        select from unnest(${needles}::text[]) needle where strpos(lower(body), needle) > 0)`;
  },
};
