import { z } from "zod";
import { time } from "../shared/shapes.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { invalid, problem } from "../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { readPage } from "../shared/lists.ts";
import type { Platform } from "../shared/platform.ts";
import { type FileRow, lockVisibleFile } from "./file.ts";
import { requireAvailable } from "./file_state.ts";
import { isServiceOwner } from "./service_scopes.ts";

/** A reference keeps a file from being purged. Its owner is the entity `ownerId` of the area `scope`. */
export const FileReference = z.object({
  referenceId: z.guid(),
  fileId: z.guid(),
  scope: z.string(),
  ownerId: z.string(),
  createdBy: z.guid().nullable(),
  createdAt: time,
}).meta({ id: "FileReference" });
export type FileReference = z.output<typeof FileReference>;

const columns = (q: Sql) => q`id as reference_id, file_id, scope, owner_id, created_by, created_at`;

export interface Owner {
  scope: string;
  ownerId: string;
}

export interface NewReference extends Owner {
  fileId: string;
  /** The tenant that holds the file; for a file with a tenant, that tenant. Null: the service itself. */
  tenantId: string | null;
  createdBy: string | null;
}

/**
 * Adds a caller's reference to an Available file. If the owner already has one, returns it. References to a product file
 * are separate per tenant. The lock on the file's row prevents a purge at the same time.
 * @throws VALIDATION_ERROR for an owner of the service, FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT,
 * FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function referenceFile(
  p: Pick<Platform, "sql">,
  caller: Caller,
  fileId: string,
  owner: Owner,
): Promise<FileReference> {
  if (isServiceOwner(owner)) {
    const own = `with a UUIDv7 as ownerId, "${owner.scope}" is a scope of the service itself`;
    throw invalid({ scope: [`${own}; expected another scope`] });
  }
  return await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId);
    requireAvailable(file);
    const tenantId = file.tenantId ?? caller.tenantId;
    return await holdFile(tx, { fileId, tenantId, ...owner, createdBy: caller.userId });
  });
}

/**
 * Inserts a reference, or returns the existing one of that tenant, scope and owner. The caller must hold the lock on
 * the file's row.
 */
export async function holdFile(tx: Tx, o: NewReference): Promise<FileReference> {
  const [row] = await tx<FileReference[]>`
    insert into file_references (id, file_id, tenant_id, scope, owner_id, created_by)
    values (${newId()}, ${o.fileId}, ${o.tenantId}, ${o.scope}, ${o.ownerId}, ${o.createdBy})
    on conflict (file_id, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), scope, owner_id)
      where released_at is null do nothing
    returning ${columns(tx)}`;
  if (row) {
    await tx`update files set reference_count = reference_count + 1, version = version + 1 where id = ${o.fileId}`;
    return row;
  }
  const [held] = await tx<FileReference[]>`
    select ${columns(tx)} from file_references
    where file_id = ${o.fileId} and tenant_id is not distinct from ${o.tenantId}::uuid
      and scope = ${o.scope} and owner_id = ${o.ownerId} and released_at is null`;
  if (!held) throw new Error("an existing reference could not be read although its file is locked");
  return held;
}

/**
 * Releases a caller's reference. Releasing it again changes nothing.
 * @throws FILE_NOT_FOUND if the file never had this reference, or another tenant or the service holds the file with it
 */
export async function releaseReference(
  p: Pick<Platform, "sql">,
  caller: Caller,
  fileId: string,
  referenceId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId);
    const [existing] = await tx<Owner[]>`select scope, owner_id from file_references
      where id = ${referenceId} and file_id = ${fileId} and ${visibleReferences(tx, caller, file)}`;
    if (!existing) throw problem("FILE_NOT_FOUND", "The file never had this reference.");
    if (isServiceOwner(existing)) {
      const found = `The service itself holds the file with this reference (scope "${existing.scope}")`;
      throw problem("FILE_NOT_FOUND", `${found}; expected a reference that a caller added.`);
    }
    const released = await tx`update file_references set released_at = now()
      where id = ${referenceId} and released_at is null`;
    if (released.count === 1) await decrementReferenceCounts(tx, [fileId]);
  });
}

/** Releases all references of owners, if any. For areas whose rows own files. */
export const releaseOwnerReferences = (tx: Tx, scope: string, ownerIds: string[]): Promise<void> =>
  releaseReferences(tx, tx`scope = ${scope} and owner_id = any(${ownerIds}::text[])`);

/** Releases the references that an SQL condition on `file_references` selects. */
export async function releaseReferences(tx: Tx, which: SqlPart): Promise<void> {
  // Lock files before references, and in id order, as all code here does. This prevents deadlocks.
  const files = await tx<{ id: string }[]>`
    select id from files where id in (
      select file_id from file_references where ${which} and released_at is null)
    order by id for update`;
  if (files.length === 0) return;
  const released = await tx<{ fileId: string }[]>`
    update file_references set released_at = now()
    where ${which} and released_at is null and file_id = any(${files.map((file) => file.id)}::uuid[])
    returning file_id`;
  await decrementReferenceCounts(tx, released.map((reference) => reference.fileId));
}

/**
 * Subtracts released references from the counts of their files and restarts the files' grace periods.
 * @param fileIds the file of each reference; a file may be in it several times
 */
async function decrementReferenceCounts(tx: Tx, fileIds: string[]): Promise<void> {
  await tx`update files f set reference_count = f.reference_count - released.count, last_released_at = now(),
      version = version + 1
    from (select id, count(*) as count from unnest(${fileIds}::uuid[]) id group by id) released
    where f.id = released.id`;
}

/** Maximum number of scopes that a refusal lists. The list of references has all of them. */
const MAX_SCOPES = 1_000;

/** The scopes that hold a file, sorted by name; at most MAX_SCOPES. */
export async function holdingScopes(q: Sql, fileId: string): Promise<string[]> {
  const rows = await q<{ scope: string }[]>`select distinct scope from file_references
    where file_id = ${fileId} and released_at is null order by scope limit ${MAX_SCOPES}`;
  return rows.map((row) => row.scope);
}

/** The current references to a file, oldest first; for a product file, only those of the caller's tenant. */
export async function listReferences(
  q: Sql,
  caller: Caller,
  file: Pick<FileRow, "id" | "tenantId">,
  request: PageRequest,
): Promise<PagedResult<FileReference>> {
  const from = q`file_references
    where file_id = ${file.id} and released_at is null and ${visibleReferences(q, caller, file)}`;
  return await readPage(q, { columns: columns(q), from, order: q`order by id` }, request);
}

/** SQL condition: on a product file, a tenant sees only its own references; a system admin sees all. */
const visibleReferences = (q: Sql, caller: Caller, file: Pick<FileRow, "tenantId">) =>
  file.tenantId !== null || isSystemAdmin(caller) ? q`true` : q`tenant_id = ${caller.tenantId}`;
