import { z } from "zod";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Actor, type AuditEntry, recordAudits } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import { inTurns } from "../../shared/in_turns.ts";
import type { Platform } from "../../shared/platform.ts";
import {
  findTakenCodes,
  lockPermissionCodes,
  permissionCategory,
  permissionCode,
  permissionDescription,
  type PermissionOwner,
  type TakenCode,
} from "./permissions.ts";
import { IMPORT_MODES, type ImportRows, type RawRow } from "./permission_import_rows.ts";
import { ownerFor } from "../tenants/tenants.ts";

const IMPORT_OUTCOMES = ["Created", "Updated", "Unchanged", "Failed"] as const;

interface ImportOptions {
  /** Update an existing permission instead of failing its row. */
  upsert: boolean;
  /** Do everything except writing. */
  dryRun: boolean;
}

export const ImportResult = z.object({
  mode: z.enum(IMPORT_MODES),
  dryRun: z.boolean(),
  upsert: z.boolean(),
  total: z.int(),
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  failed: z.int(),
  rows: z.array(z.object({
    row: z.int().describe("Number of the permission in the document, from 1"),
    // As given, at most 200 characters; null if it is not a string.
    code: z.string().nullable(),
    outcome: z.enum(IMPORT_OUTCOMES),
    errors: z.array(z.string()),
  })),
}).meta({ id: "PermissionImportResultDto" });
export type ImportResult = z.output<typeof ImportResult>;
type ImportedRow = ImportResult["rows"][number];

/** A permission as the database has it, with the changes of the rows so far. */
interface ImportedPermission extends Omit<TakenCode, "tenantId" | "isSystem"> {
  /** As the database has it; absent if a row of this import creates it. */
  stored?: { description: string | null; category: string };
  /** The reason why no row may change it. */
  readOnlyReason?: string;
}

/** Rows that are handled at once. Other requests wait for them, some 10 ms. */
const PART = 500;

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
  return await importPermissions(p, caller, await ownerFor(p.sql, caller), document, options);
}

/**
 * Imports permissions in one transaction. Rows apply in order; an invalid row fails without affecting the others. What
 * all rows lead to is written afterwards, so a permission that several rows change is written once.
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
    const known = new Map<string, ImportedPermission>();
    for await (const part of inTurns(rows, PART)) {
      const codes = part.flatMap(({ code }) => permissionCode.safeParse(code).data ?? []);
      for (const taken of await findTakenCodes(tx, owner, codes)) {
        known.set(taken.code, storedOf(taken, owner));
      }
    }
    const outcomes: ImportedRow[] = [];
    for await (const part of inTurns(rows, PART)) {
      for (const raw of part) outcomes.push(applyRow(known, raw, outcomes.length + 1, options.upsert));
    }
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

function storedOf({ tenantId, isSystem, ...taken }: TakenCode, owner: PermissionOwner): ImportedPermission {
  const readOnlyReason = isSystem
    ? "this is a built-in permission; it cannot be changed"
    : tenantId !== owner
    ? `the code is taken by ${tenantId === null ? "the catalog" : "a tenant"}`
    : null;
  const { description, category } = taken;
  return { ...taken, stored: { description, category }, ...readOnlyReason ? { readOnlyReason } : {} };
}

function applyRow(
  known: Map<string, ImportedPermission>,
  raw: RawRow,
  row: number,
  upsert: boolean,
): ImportedRow {
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
  if (!upsert) return failed("code: a permission with this code already exists; set upsert to update it");
  const next = { description: description === undefined ? existing.description : description, category };
  if (next.description === existing.description && next.category === existing.category) {
    return { row, code, outcome: "Unchanged", errors: [] };
  }
  if (existing.readOnlyReason) return failed(`code: ${existing.readOnlyReason}`);
  Object.assign(existing, next);
  return { row, code, outcome: "Updated", errors: [] };
}

async function writePermissions(
  tx: Tx,
  actor: Actor,
  owner: PermissionOwner,
  known: ImportedPermission[],
): Promise<void> {
  const made = known.filter(({ stored }) => !stored);
  const changed = known.filter(({ stored, description, category }) =>
    stored && (stored.description !== description || stored.category !== category)
  );
  for await (const part of inTurns(made, PART)) {
    await tx`insert into permissions (id, tenant_id, code, description, category)
      select id, ${owner}::uuid, code, description, category from unnest(
        ${column(part, "id")}::uuid[], ${column(part, "code")}::text[],
        ${column(part, "description")}::text[], ${column(part, "category")}::text[])
        made (id, code, description, category)`;
    await recordAudits(tx, actor, part.map(auditEntry));
  }
  for await (const part of inTurns(changed, PART)) {
    await tx`update permissions p set description = c.description, category = c.category, version = p.version + 1,
        updated_at = now()
      from unnest(${column(part, "id")}::uuid[], ${column(part, "description")}::text[],
        ${column(part, "category")}::text[]) c (id, description, category) where p.id = c.id`;
    await recordAudits(tx, actor, part.map(auditEntry));
  }
}

const column = (rows: ImportedPermission[], name: "id" | "code" | "description" | "category") =>
  rows.map((row) => row[name]);

function auditEntry({ id, code, description, category, stored }: ImportedPermission): AuditEntry {
  return {
    action: stored ? "permission.update" : "permission.create",
    targetType: "permission",
    targetId: id,
    before: stored && { code, ...stored },
    after: { code, description, category },
  };
}
