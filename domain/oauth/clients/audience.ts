import { withoutAtEnd } from "../../shared/without_at_end.ts";
import { maintenanceJob } from "../../jobs/maintenance.ts";
import type { Platform } from "../../shared/platform.ts";

/** The audience as it is compared: without slashes at its end. */
export const withoutSlash = (audience: string): string => withoutAtEnd(audience, "/");

/** Do two audiences name the same API? A trailing slash makes no difference, because libraries add and remove it. */
export const isSameAudience = (one: string, other: string): boolean =>
  withoutSlash(one) === withoutSlash(other);

/** Deletes the audiences of erased tenants when they are free again, a day after the erasure. */
export const pruneAudiencesJob = maintenanceJob({
  name: "steward.prune-audiences",
  cron: "15 * * * *",
  works: {
    audiences: {
      limit: 1_000,
      run: async ({ sql }: Platform, { limit }) => {
        const { count } = await sql`
          delete from oauth_audiences where left_at <= now() - interval '1 day' and audience = any(array(
            select a.audience from oauth_audiences a join tenants t on t.id = a.tenant_id
            where a.left_at <= now() - interval '1 day' and t.erased_at is not null limit ${limit}))`;
        return count;
      },
    },
  },
});
