import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../access/caller.ts";
import { findUsersInTenant } from "../access/user_lookup.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
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

/**
 * Has an owner hold an Available file; the same row again for one who holds it already. The lock on the file's row
 * keeps a purge from passing in between.
 * @throws FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function referenceFile(
  p: Pick<Platform, "sql">,
  caller: Caller,
  fileId: string,
  owner: Owner,
): Promise<FileReference> {
  return await transact(p.sql, async (tx) => {
    requireAvailable(await lockFile(tx, fileId));
    return await holdFile(tx, { fileId, ...owner, createdBy: caller.userId });
  });
}

/** Writes a reference unless the pair has one. The caller holds the lock on the file's row. */
export async function holdFile(
  tx: Tx,
  o: Owner & { fileId: string; createdBy: string | null },
): Promise<FileReference> {
  const [row] = await tx<FileReference[]>`
    insert into file_references (id, file_id, scope, owner_id, created_by)
    values (${newId()}, ${o.fileId}, ${o.scope}, ${o.ownerId}, ${o.createdBy})
    on conflict (file_id, scope, owner_id) where released_at is null do nothing
    returning id as reference_id, file_id, scope, owner_id, created_by, created_at`;
  if (row) {
    await tx`update files set reference_count = reference_count + 1, version = version + 1 where id = ${o.fileId}`;
    return row;
  }
  const [held] = await tx<FileReference[]>`
    select id as reference_id, file_id, scope, owner_id, created_by, created_at from file_references
    where file_id = ${o.fileId} and scope = ${o.scope} and owner_id = ${o.ownerId} and released_at is null`;
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
    const [known] = await tx<Creator[]>`select created_by from file_references
      where id = ${referenceId} and file_id = ${fileId}`;
    if (!known || !await isOwn(tx, caller, file, known)) {
      throw problem("FILE_NOT_FOUND", "The file never had this reference.");
    }
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

/** The scopes that hold a file, by name. */
export async function holdingScopes(q: Queryable, fileId: string): Promise<string[]> {
  const rows = await q<{ scope: string }[]>`select distinct scope from file_references
    where file_id = ${fileId} and released_at is null order by scope`;
  return rows.map((row) => row.scope);
}

/** What holds a file now, the longest-standing first; of a product file, what the caller's tenant holds it with. */
export async function listReferences(
  q: Queryable,
  caller: Caller,
  file: Pick<FileRow, "id" | "tenantId">,
  request: PageRequest,
): Promise<PagedResult<FileReference>> {
  const creators = await ownCreators(q, caller, file);
  const listed = q`file_id = ${file.id} and released_at is null
    and ${creators === null ? q`true` : q`created_by = any(${creators}::uuid[])`}`;
  const [[counted], references] = await Promise.all([
    q<{ total: number }[]>`select count(*) as total from file_references where ${listed}`,
    q<FileReference[]>`select id as reference_id, file_id, scope, owner_id, created_by, created_at
      from file_references where ${listed}
      order by id limit ${request.pageSize} offset ${offsetOf(request)}`,
  ]);
  return pagedResult<FileReference>([...references], counted?.total ?? 0, request);
}

interface Creator {
  createdBy: string | null;
}

/** A product file is everyone's, what holds it is not: each tenant has to do with its own users' references only. */
const holdsForAll = (caller: Caller, file: Pick<FileRow, "tenantId">): boolean =>
  file.tenantId !== null || isSystemAdmin(caller);

async function isOwn(q: Queryable, caller: Caller, file: FileRow, { createdBy }: Creator): Promise<boolean> {
  if (holdsForAll(caller, file)) return true;
  return createdBy !== null && (await findUsersInTenant(q, caller.tenantId, [createdBy])).length === 1;
}

/** Whose references of a file the caller may see; null: everybody's. */
async function ownCreators(
  q: Queryable,
  caller: Caller,
  file: Pick<FileRow, "id" | "tenantId">,
): Promise<string[] | null> {
  if (holdsForAll(caller, file)) return null;
  const creators = await q<{ id: string }[]>`select distinct created_by as id from file_references
    where file_id = ${file.id} and released_at is null and created_by is not null`;
  return (await findUsersInTenant(q, caller.tenantId, creators.map(({ id }) => id))).map(({ id }) => id);
}
