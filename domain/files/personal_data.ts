import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { eraseAddresses } from "../shared/erase_text.ts";
import { ofTenant, type PersonalData } from "../shared/personal_data.ts";
import { deleteDeliveries, deleteDiscarded } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";
import { purgeFiles } from "./purge_file.ts";
import { JOB_REASONS } from "./purge_reasons.ts";
import { releaseReferences } from "./references.ts";

const FILES_AT_ONCE = 100;

/** Records of files. Content is not part of an export. An erased person stays as `createdBy`: an id without a name. */
export const filePersonalData: PersonalData<FilePlatform> = {
  area: "files",
  user: {
    files: (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, profile, file_name, declared_content_type, size_bytes, sha256, status, created_at
      from files where created_by = ${userId} and ${ofTenant(q, tenantId)} order by id`,
  },
  tenant: {
    files: (q, tenantId) =>
      q`
      select id, profile, file_name, declared_content_type, detected_content_type, size_bytes, sha256, status,
        retention_class, retain_until, legal_hold, created_by, created_at, purged_at, purge_reason
      from files where tenant_id = ${tenantId} order by id`,
  },
  async eraseUsers({ sql }, persons) {
    await eraseAddresses(sql, persons, [{ table: "files", columns: { legal_hold_reason: "text" } }]);
  },
  async eraseTenant(p, tenantId) {
    await requireNoLegalHold(p.sql, tenantId);
    while (await purgeTenantFiles(p, tenantId) > 0);
    await deleteDeliveries(p, tenantId);
    await transact(p.sql, (tx) =>
      releaseReferences(
        tx,
        tx`tenant_id = ${tenantId} and file_id in (select id from files where tenant_id is null)`,
      ));
    await p
      .sql`update files set file_name = 'erased' where tenant_id = ${tenantId} and file_name <> 'erased'`;
  },
};

/** @throws FILE_LEGAL_HOLD_CONFLICT with the number of files under legal hold */
export async function requireNoLegalHold(q: Sql, tenantId: string): Promise<void> {
  const [held] = await q<{ files: number }[]>`
    select count(*)::int as files from files where tenant_id = ${tenantId} and legal_hold and status <> 'Purged'`;
  if (!held?.files) return;
  throw problem(
    "FILE_LEGAL_HOLD_CONFLICT",
    `The tenant has ${held.files} file(s) under legal hold; release the holds before the tenant is erased.`,
  );
}

/** Purges one batch of the tenant's files, whatever their state and retention. Their references go with the tenant. */
async function purgeTenantFiles(p: FilePlatform, tenantId: string): Promise<number> {
  const files = await p.sql<{ id: string }[]>`select id from files
    where tenant_id = ${tenantId} and status not in ('Purged', 'Infected') and not legal_hold
    order by id limit ${FILES_AT_ONCE}`;
  return await purgeErased(p, files.map(({ id }) => id), JOB_REASONS.tenantErased);
}

/** Purges files because of an erasure, except those under legal hold. @returns how many */
export async function purgeErased(p: FilePlatform, fileIds: string[], reason: string): Promise<number> {
  const rows = await transact(p.sql, async (tx) => {
    const files = await tx<{ id: string }[]>`select id from files
      where id = any(${fileIds}::uuid[]) and status not in ('Purged', 'Infected') and not legal_hold
      order by id for update`;
    const ids = files.map(({ id }) => id);
    await releaseReferences(tx, tx`file_id = any(${ids}::uuid[])`);
    return await purgeFiles(p, tx, { which: tx`id = any(${ids}::uuid[])`, reason });
  });
  await deleteDiscarded(p, rows.map(({ id }) => id));
  return rows.length;
}
