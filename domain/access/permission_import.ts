import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type Actor, type AuditEntry, recordAudits } from "../audit/audit.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { TenantCaller } from "./caller.ts";
import {
  findTakenCodes,
  lockPermissionCodes,
  type PermissionOwner,
  permissionOwner,
} from "./permission_codes.ts";
import { permissionCategory, permissionCode, permissionDescription } from "./permission_fields.ts";
import type { ImportMode, ImportRows, RawRow } from "./permission_import_rows.ts";

export const IMPORT_OUTCOMES = ["Created", "Updated", "Unchanged", "Failed"] as const;

export interface ImportOptions {
  /** An existing code is brought up to date instead of failing its row. */
  upsert: boolean;
  /** Everything but the writing. */
  dryRun: boolean;
}

export interface ImportedRow {
  /** Counts the permissions of the document from 1. */
  row: number;
  /** As it was given; null where it is no text. */
  code: string | null;
  outcome: typeof IMPORT_OUTCOMES[number];
  errors: string[];
}

export interface ImportResult extends ImportOptions {
  mode: ImportMode;
  total: number;
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
  rows: ImportedRow[];
}

/** What the import knows of a code: as the database has it, then as the rows so far leave it. */
interface Known {
  id: string;
  code: string;
  description: string | null;
  category: string;
  /** As the database has it; absent where a row of this import makes it. */
  stored?: { description: string | null; category: string };
  /** Why no row may touch it. */
  untouchable?: string;
}

const Row = z.object({
  code: permissionCode,
  description: permissionDescription,
  category: permissionCategory,
});

/** Imports into the caller's tenant, or into the catalog with admin:system in the platform tenant. */
export async function importPermissionsAs(
  p: Pick<Platform, "sql">,
  caller: TenantCaller,
  document: ImportRows,
  options: ImportOptions,
): Promise<ImportResult> {
  return await importPermissions(p, caller, await permissionOwner(p.sql, caller), document, options);
}

/**
 * Imports permissions in one transaction, each row as if it came alone and after those above it: a row that does not
 * fit fails by itself. All reading and writing is done for all rows at once.
 */
export async function importPermissions(
  p: Pick<Platform, "sql">,
  actor: Actor,
  owner: PermissionOwner,
  document: ImportRows,
  options: ImportOptions,
): Promise<ImportResult> {
  const { mode, rows } = document;
  return await transact(p.sql, async (tx) => {
    await lockPermissionCodes(tx, owner);
    const codes = new Set(rows.flatMap(({ code }) => permissionCode.safeParse(code).data ?? []));
    const known = new Map<string, Known>();
    for (const { tenantId, isSystem, ...taken } of await findTakenCodes(tx, owner, [...codes])) {
      const untouchable = isSystem
        ? "the service relies on this permission; it cannot be changed"
        : tenantId !== owner
        ? `the code is taken by ${tenantId === null ? "the catalog" : "a tenant"}`
        : null;
      const { description, category } = taken;
      known.set(taken.code, {
        ...taken,
        stored: { description, category },
        ...untouchable ? { untouchable } : {},
      });
    }
    const outcomes = rows.map((raw, index) => applyRow(known, raw, index + 1, options.upsert));
    if (!options.dryRun) await writePermissions(tx, actor, owner, [...known.values()]);
    const count = (outcome: ImportedRow["outcome"]) =>
      outcomes.filter((row) => row.outcome === outcome).length;
    return {
      mode,
      ...options,
      total: rows.length,
      created: count("Created"),
      updated: count("Updated"),
      unchanged: count("Unchanged"),
      failed: count("Failed"),
      rows: outcomes,
    };
  });
}

function applyRow(known: Map<string, Known>, raw: RawRow, row: number, upsert: boolean): ImportedRow {
  const code = typeof raw.code === "string" ? raw.code.slice(0, 200) : null;
  const failed = (...errors: string[]): ImportedRow => ({ row, code, outcome: "Failed", errors });
  if (raw.fault) return failed(raw.fault);
  const unstorable = [raw.description, raw.category].some((text) =>
    typeof text === "string" && (text.includes("\0") || !text.isWellFormed())
  );
  if (unstorable) return failed("texts must be well-formed Unicode without the NUL character");
  const parsed = Row.safeParse(raw);
  if (!parsed.success) {
    return failed(...parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`));
  }
  const { description, category } = parsed.data;
  const existing = known.get(parsed.data.code);
  if (!existing) {
    known.set(parsed.data.code, {
      id: newId(),
      code: parsed.data.code,
      description: description ?? null,
      category,
    });
    return { row, code, outcome: "Created", errors: [] };
  }
  if (!upsert) return failed("code: a permission with this code exists already; upsert would update it");
  const next = { description: description === undefined ? existing.description : description, category };
  if (next.description === existing.description && next.category === existing.category) {
    return { row, code, outcome: "Unchanged", errors: [] };
  }
  if (existing.untouchable) return failed(`code: ${existing.untouchable}`);
  Object.assign(existing, next);
  return { row, code, outcome: "Updated", errors: [] };
}

async function writePermissions(tx: Tx, actor: Actor, owner: PermissionOwner, known: Known[]): Promise<void> {
  const made = known.filter(({ stored }) => !stored);
  const changed = known.filter(({ stored, description, category }) =>
    stored && (stored.description !== description || stored.category !== category)
  );
  const column = (rows: Known[], name: "id" | "code" | "description" | "category") =>
    rows.map((row) => row[name]);
  await tx`insert into permissions (id, tenant_id, code, description, category)
    select id, ${owner}::uuid, code, description, category from unnest(
      ${column(made, "id")}::uuid[], ${column(made, "code")}::text[], ${column(made, "description")}::text[],
      ${column(made, "category")}::text[]) made (id, code, description, category)`;
  await tx`update permissions p set description = c.description, category = c.category, version = p.version + 1,
      updated_at = now()
    from unnest(${column(changed, "id")}::uuid[], ${column(changed, "description")}::text[],
      ${column(changed, "category")}::text[]) c (id, description, category) where p.id = c.id`;
  await recordAudits(tx, actor, [...made, ...changed].map(auditEntry));
}

function auditEntry({ id, code, description, category, stored }: Known): AuditEntry {
  return {
    action: stored ? "permission.update" : "permission.create",
    targetType: "permission",
    targetId: id,
    before: stored && { code, ...stored },
    after: { code, description, category },
  };
}
