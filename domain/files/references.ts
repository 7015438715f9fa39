import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import { pageOf } from "../shared/list_order.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import type { Platform } from "../shared/platform.ts";
import { type FileRow, lockFile } from "./file.ts";
import { requireAvailable } from "./file_state.ts";

/** What holds a file: a row of `scope` that is called `ownerId` there. */
export interface FileReference {
  referenceId: string;
  fileId: string;
  scope: string;
  ownerId: string;
  createdBy: string | null;
  createdAt: Date;
}

export interface Owner {
  scope: string;
  ownerId: string;
}

export interface NewReference extends Owner {
  fileId: string;
  /** Whose it is: the file's tenant, or of a product file the tenant that holds it; null: the service's own. */
  tenantId: string | null;
  createdBy: string | null;
}

/**
 * Has an owner hold an Available file; the same row again for one who holds it already. Of a product file each tenant
 * has holds of its own. The lock on the file's row keeps a purge from passing in between.
 * @throws FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function referenceFile(
  p: Pick<Platform, "sql">,
  caller: Caller,
  fileId: string,
  owner: Owner,
): Promise<FileReference> {
  return await transact(p.sql, async (tx) => {
    const file = await lockFile(tx, fileId);
    requireAvailable(file);
    const tenantId = file.tenantId ?? caller.tenantId;
    return await holdFile(tx, { fileId, tenantId, ...owner, createdBy: caller.userId });
  });
}

/** Writes a reference unless the tenant holds the file by that pair. The caller holds the lock on the file's row. */
export async function holdFile(tx: Tx, o: NewReference): Promise<FileReference> {
  const [row] = await tx<FileReference[]>`
    insert into file_references (id, file_id, tenant_id, scope, owner_id, created_by)
    values (${newId()}, ${o.fileId}, ${o.tenantId}, ${o.scope}, ${o.ownerId}, ${o.createdBy})
    on conflict (file_id, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), scope, owner_id)
      where released_at is null do nothing
    returning id as reference_id, file_id, scope, owner_id, created_by, created_at`;
  if (row) {
    await tx`update files set reference_count = reference_count + 1, version = version + 1 where id = ${o.fileId}`;
    return row;
  }
  const [held] = await tx<FileReference[]>`
    select id as reference_id, file_id, scope, owner_id, created_by, created_at from file_references
    where file_id = ${o.fileId} and tenant_id is not distinct from ${o.tenantId}::uuid
      and scope = ${o.scope} and owner_id = ${o.ownerId} and released_at is null`;
  if (!held) throw new Error("a reference exists and cannot be read under the lock on its file");
  return held;
}

/**
 * Releases a reference; again is the same as once.
 * @throws FILE_NOT_FOUND when the file never had such a reference, or it is another tenant's on a product file.
 */
export async function releaseReference(
  p: Pick<Platform, "sql">,
  caller: Caller,
  fileId: string,
  referenceId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const file = await lockFile(tx, fileId);
    const known = await tx`select from file_references
      where id = ${referenceId} and file_id = ${fileId} and ${concerning(tx, caller, file)}`;
    if (known.length === 0) throw problem("FILE_NOT_FOUND", "The file never had this reference.");
    const released = await tx`update file_references set released_at = now()
      where id = ${referenceId} and released_at is null`;
    if (released.count === 1) await letGo(tx, [fileId]);
  });
}

/** Releases whatever an owner holds, for areas whose rows own files. Holding nothing is fine. */
export async function releaseOwnerReferences(tx: Tx, scope: string, ownerId: string): Promise<void> {
  // Files are locked before references and in the order of their ids, as everywhere: no deadlocks.
  const files = await tx<{ id: string }[]>`
    select id from files where id in (
      select file_id from file_references where scope = ${scope} and owner_id = ${ownerId} and released_at is null)
    order by id for update`;
  const released = await tx<{ fileId: string }[]>`
    update file_references set released_at = now()
    where scope = ${scope} and owner_id = ${ownerId} and released_at is null
      and file_id = any(${files.map((file) => file.id)}::uuid[])
    returning file_id`;
  await letGo(tx, released.map((reference) => reference.fileId));
}

/** One reference less on each of these files; their grace period begins anew. */
async function letGo(tx: Tx, fileIds: string[]): Promise<void> {
  await tx`update files set reference_count = reference_count - 1, last_released_at = now(), version = version + 1
    where id = any(${fileIds}::uuid[])`;
}

/** Of how many scopes a refusal tells; the list of references tells of every one. */
const MOST_SCOPES = 1_000;

/** The scopes that hold a file, by name; the first thousand of them. */
export async function holdingScopes(q: Queryable, fileId: string): Promise<string[]> {
  const rows = await q<{ scope: string }[]>`select distinct scope from file_references
    where file_id = ${fileId} and released_at is null order by scope limit ${MOST_SCOPES}`;
  return rows.map((row) => row.scope);
}

/** What holds a file now, the longest-standing first; of a product file, what the caller's tenant holds it with. */
export async function listReferences(
  q: Queryable,
  caller: Caller,
  file: Pick<FileRow, "id" | "tenantId">,
  request: PageRequest,
): Promise<PagedResult<FileReference>> {
  const listed = q`file_id = ${file.id} and released_at is null and ${concerning(q, caller, file)}`;
  const [[counted], references] = await Promise.all([
    q<{ total: number }[]>`select count(*) as total from file_references where ${listed}`,
    q<FileReference[]>`select id as reference_id, file_id, scope, owner_id, created_by, created_at
      from file_references where ${listed}
      order by id ${pageOf(q, request)}`,
  ]);
  return pagedResult<FileReference>([...references], counted?.total ?? 0, request);
}

/** A product file is everyone's, what holds it is not: each tenant has to do with its own references only. */
const concerning = (q: Queryable, caller: Caller, file: Pick<FileRow, "tenantId">) =>
  file.tenantId !== null || isSystemAdmin(caller) ? q`true` : q`tenant_id = ${caller.tenantId}`;
