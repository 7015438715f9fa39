import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { type Actor, recordAudit } from "../../audit/audit.ts";
import { signFileDownload } from "../../files/service_files.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { countDownload, type Execution } from "../execution.ts";
import { STATUS } from "../status.ts";

const LINK_HOURS = 24;

/** The path of report links, without the token. */
export const LINK_PATH = "/r";

/**
 * Creates a link to an execution's document. Anyone with the link can use it for 24 hours. Each visit checks that the
 * execution is not deleted and the document may still be served.
 */
export async function createReportLink(
  p: Pick<Platform, "baseUrl">,
  q: Sql,
  executionId: string,
): Promise<{ url: string; expiresAt: Date }> {
  const token = newSecret();
  const [link] = await q<{ expiresAt: Date }[]>`
    insert into report_links (token_hash, execution_id, expires_at)
    values (${digest(token)}, ${executionId}, now() + make_interval(hours => ${LINK_HOURS}))
    returning expires_at`;
  if (!link) throw new Error("an inserted report link was not returned");
  return { url: `${p.baseUrl()}${LINK_PATH}/${token}`, expiresAt: link.expiresAt };
}

/** A link that is not expired, and whose report is complete and not deleted. */
async function findLinked(
  q: Sql,
  token: string,
): Promise<Pick<Execution, "id" | "tenantId" | "storedFileId"> | undefined> {
  const [execution] = await q<Pick<Execution, "id" | "tenantId" | "storedFileId">[]>`
    select e.id, e.tenant_id, e.stored_file_id from report_links l join report_executions e on e.id = l.execution_id
    where l.token_hash = ${digest(token)} and l.expires_at > now() and e.deleted_at is null
      and e.status in (${STATUS.Completed}, ${STATUS.Delivered})`;
  return execution;
}

/** The tenant of a link's report; null if the link is unknown or expired, or the report was deleted. */
export const readLinkTenant = async (q: Sql, token: string): Promise<string | null> =>
  (await findLinked(q, token))?.tenantId ?? null;

/**
 * Returns a signed download URL of a link's document, valid for five minutes, and counts a download.
 * @throws REPORT_LINK_NOT_FOUND (link unknown or expired, or report deleted), FILE_NOT_AVAILABLE_CONFLICT,
 * FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function followReportLink(
  p: Platform,
  token: string,
  visit: Pick<NonNullable<Actor>, "traceId" | "ip">,
): Promise<string> {
  const execution = await findLinked(p.sql, token);
  if (!execution?.storedFileId) {
    throw problem("REPORT_LINK_NOT_FOUND", "The link is unknown or expired, or its report was deleted.");
  }
  const { id, tenantId, storedFileId } = execution;
  const { url, expiresAt } = await signFileDownload(p, storedFileId);
  await transact(p.sql, async (tx) => {
    await countDownload(tx, id);
    await recordAudit(tx, { userId: null, tenantId, ...visit }, "report.follow-link", id, {
      after: { storedFileId, expiresAt },
    });
  });
  return url;
}
