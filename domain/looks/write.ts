import { createHash } from "node:crypto";
import { announceChange } from "../../infra/postgres/changes.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { invalid, problem } from "../problems/problem.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { requireVersion } from "../shared/version.ts";
import { contrastOf, READABLE_CONTRAST } from "./colours.ts";
import { inspectLogo } from "./logo_image.ts";
import { type OwnLooks, readOwnLooks } from "./looks.ts";

/** A change of looks. Members that are left out stay unchanged; null restores the value of the configuration. */
export type LooksChange = Partial<Omit<OwnLooks, "logo" | "version">>;

/**
 * Changes the looks of the caller's tenant.
 * @throws VALIDATION_ERROR for a text colour that is hard to read on the primary colour, PRECONDITION_FAILED
 */
export async function updateLooks(
  p: Pick<Platform, "sql" | "config">,
  caller: TenantCaller,
  change: LooksChange,
  ifMatch: string | null,
): Promise<OwnLooks> {
  return await changeLooks(p.sql, caller, ifMatch, "update", async (tx, before) => {
    const after = { ...before, ...change };
    if (JSON.stringify(after) === JSON.stringify(before)) return "unchanged";
    requireReadable(after, p.config);
    const { productName, primaryColour, textColour, footer, replyTo } = after;
    await tx`
      update tenant_looks set product_name = ${productName}, primary_colour = ${primaryColour},
        text_colour = ${textColour}, footer = ${footer}, reply_to = ${replyTo}
      where tenant_id = ${caller.tenantId}`;
  });
}

/** Checks the contrast of a chosen text colour. Without one, the service chooses a readable colour. */
function requireReadable(own: OwnLooks, config: Platform["config"]): void {
  const { primaryColour: chosen, textColour } = own;
  if (textColour === null) return;
  const primaryColour = chosen ?? config.PRIMARY_COLOUR;
  const contrast = contrastOf(primaryColour, textColour);
  if (contrast >= READABLE_CONTRAST) return;
  const found = `${textColour} on ${primaryColour} has a contrast of ${Math.floor(contrast * 10) / 10}:1`;
  throw invalid({
    textColour: [`${found}; expected at least ${READABLE_CONTRAST}:1, or null: the service then chooses`],
  });
}

/** Sets the logo of the caller's tenant. @throws VALIDATION_ERROR for a wrong image, PRECONDITION_FAILED */
export async function setLogo(
  sql: Sql,
  caller: TenantCaller,
  content: Uint8Array,
  ifMatch: string | null,
): Promise<OwnLooks> {
  const { contentType, width, height } = await inspectLogo(content);
  const tag = createHash("sha256").update(content).digest("base64url").slice(0, 16);
  return await changeLooks(sql, caller, ifMatch, "set-logo", async (tx) => {
    await tx`
      update tenant_looks set logo = ${content}, logo_content_type = ${contentType}, logo_width = ${width},
        logo_height = ${height}, logo_tag = ${tag} where tenant_id = ${caller.tenantId}`;
  });
}

/** Removes the logo of the caller's tenant. @throws TENANT_LOGO_NOT_FOUND, PRECONDITION_FAILED */
export async function removeLogo(sql: Sql, caller: TenantCaller, ifMatch: string | null): Promise<OwnLooks> {
  return await changeLooks(sql, caller, ifMatch, "remove-logo", async (tx, before) => {
    if (!before.logo) throw logoNotFound();
    await tx`
      update tenant_looks set logo = null, logo_content_type = null, logo_width = null, logo_height = null,
        logo_tag = null where tenant_id = ${caller.tenantId}`;
  });
}

export const logoNotFound = () => problem("TENANT_LOGO_NOT_FOUND", "There is no logo at this address.");

/** Locks the looks, checks the version, applies `write` and, if it changes something, increments the version. */
async function changeLooks(
  sql: Sql,
  caller: TenantCaller,
  ifMatch: string | null,
  verb: "update" | "set-logo" | "remove-logo",
  write: (tx: Tx, before: OwnLooks) => Promise<void | "unchanged">,
): Promise<OwnLooks> {
  const { tenantId } = caller;
  return await transact(sql, async (tx) => {
    // A missing row is inserted, so that it can be locked.
    await tx`insert into tenant_looks (tenant_id) values (${tenantId}) on conflict (tenant_id) do nothing`;
    const before = await readOwnLooks(tx, tenantId, tx`for update`);
    requireVersion(ifMatch, before.version);
    if (await write(tx, before) === "unchanged") return before;
    await tx`update tenant_looks set version = version + 1, updated_at = now() where tenant_id = ${tenantId}`;
    const after = await readOwnLooks(tx, tenantId);
    await recordAudit(tx, caller, `tenant-looks.${verb}`, tenantId, { before, after });
    announceChange(tx, { topic: "looks", ids: [tenantId] });
    return after;
  });
}
