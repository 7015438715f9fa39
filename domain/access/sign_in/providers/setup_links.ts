import { z } from "zod";
import { type Sql, transact } from "../../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../../audit/audit.ts";
import { problem } from "../../../problems/problem.ts";
import type { TenantCaller } from "../../../rights/caller.ts";
import { SETUP_PREFIX } from "../../../rights/key_rights.ts";
import { newId } from "../../../shared/ids.ts";
import type { PagedResult, PageRequest } from "../../../shared/paging.ts";
import { readPage } from "../../../shared/lists.ts";
import { digest, newSecret } from "../../../shared/secrets.ts";
import { time } from "../../../shared/shapes.ts";
import type { AccessPlatform } from "../../platform.ts";

const LIFE_HOURS = 24;

/** A link by which a stranger to the service sets up the sign-in of one tenant, for a day. */
export const SetupLink = z.object({
  id: z.guid(),
  createdBy: z.guid(),
  createdAt: time,
  expiresAt: time,
}).meta({ id: "SignInSetupLinkDto" });
export type SetupLink = z.output<typeof SetupLink>;

export const NewSetupLink = z.object({
  id: z.guid(),
  url: z.string().describe("Its `token` is a bearer credential too. It is shown only in this answer"),
  expiresAt: time,
}).meta({ id: "SignInSetupLinkCreatedDto" });

/** Creates a link. It is good as long as its creator holds the permission. */
export async function createSetupLink(
  p: AccessPlatform,
  caller: TenantCaller,
): Promise<z.output<typeof NewSetupLink>> {
  const [id, token] = [newId(), `${SETUP_PREFIX}${newSecret()}`];
  return await transact(p.sql, async (tx) => {
    const [link] = await tx<{ expiresAt: Date }[]>`
      insert into sign_in_setup_links (id, tenant_id, token_hash, created_by, expires_at)
      values (${id}, ${caller.tenantId}, ${digest(token)}, ${caller.userId},
        now() + make_interval(hours => ${LIFE_HOURS})) returning expires_at`;
    if (!link) throw new Error("the insert of a set-up link returned no row");
    await recordAudit(tx, caller, "sign-in-setup-link.create", id);
    // in the fragment, so that no log of requests has it
    return { id, url: `${p.baseUrl()}/console/set-up#${new URLSearchParams({ token })}`, ...link };
  });
}

/** Lists the links of a tenant that can be used, the oldest first. */
export const listSetupLinks = (
  q: Sql,
  tenantId: string,
  page: PageRequest,
): Promise<PagedResult<SetupLink>> =>
  readPage(q, {
    columns: q`id, created_by, created_at, expires_at`,
    from: q`sign_in_setup_links where tenant_id = ${tenantId} and revoked_at is null and expires_at > now()`,
    order: q`order by id`,
  }, page);

/** Revokes a link; effective at once. @throws SIGN_IN_SETUP_LINK_NOT_FOUND */
export async function revokeSetupLink(sql: Sql, caller: TenantCaller, id: string): Promise<void> {
  await transact(sql, async (tx) => {
    const revoked = await tx`update sign_in_setup_links set revoked_at = now()
      where id = ${id} and tenant_id = ${caller.tenantId} and revoked_at is null`;
    if (revoked.count === 0) {
      throw problem("SIGN_IN_SETUP_LINK_NOT_FOUND", `The tenant has no set-up link ${id} that can be used.`);
    }
    await recordAudit(tx, caller, "sign-in-setup-link.revoke", id);
  });
}
