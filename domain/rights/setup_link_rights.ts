import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { digest } from "../shared/secrets.ts";
import { includesPermission } from "./catalog.ts";
import { permissionCodes } from "./held_permissions.ts";
import { loadPermissionsIn } from "./service_account_rights.ts";

/** Distinguishes the tokens of set-up links from access tokens and keys. */
export const SETUP_PREFIX = "su_";
/** The one permission of a set-up link, which its creator must hold. */
export const SETUP_PERMISSION = "manage:sign-in";

/** A link by which a stranger to the service sets up the sign-in of a tenant. */
export interface SetupLink {
  id: string;
  tenantId: string;
  /** A user or a service account. */
  createdBy: string;
}

/**
 * Reads a set-up link that may be used.
 * @throws TOKEN_INVALID, TOKEN_REVOKED, TOKEN_EXPIRED, SESSION_INVALIDATED (its creator does not hold the permission any more)
 */
export async function readSetupLink(q: Sql, token: string): Promise<SetupLink> {
  const [link] = await q<(SetupLink & { isRevoked: boolean; isExpired: boolean })[]>`
    select id, tenant_id, created_by, revoked_at is not null as is_revoked, expires_at <= now() as is_expired
    from sign_in_setup_links where token_hash = ${digest(token)}`;
  if (!link) throw problem("TOKEN_INVALID", "The set-up link is unknown.");
  if (link.isRevoked) throw problem("TOKEN_REVOKED", "The set-up link was revoked.");
  if (link.isExpired) throw problem("TOKEN_EXPIRED", "The set-up link is older than 24 hours.");
  if (includesPermission(await heldBy(q, link), SETUP_PERMISSION)) return link;
  throw problem(
    "SESSION_INVALIDATED",
    `The creator of the set-up link does not hold ${SETUP_PERMISSION} in the tenant any more, or it is not active.`,
  );
}

/** The permissions of the link's creator in its tenant; none if the creator is not active. */
async function heldBy(q: Sql, { createdBy, tenantId }: SetupLink): Promise<ReadonlySet<string>> {
  const [creator] = await q<{ isUser: boolean }[]>`
    select true as is_user from users where id = ${createdBy} and is_active and deleted_at is null
    union all select false from service_accounts
      where id = ${createdBy} and revoked_at is null and (expires_at is null or expires_at > now())`;
  if (!creator) return new Set();
  if (!creator.isUser) return (await loadPermissionsIn(q, createdBy, tenantId))?.permissions ?? new Set();
  const codes = await q<{ code: string }[]>`${permissionCodes(q, createdBy, tenantId)}`;
  return new Set(codes.map(({ code }) => code));
}
