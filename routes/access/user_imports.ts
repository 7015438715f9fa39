import { z } from "zod";
import { acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { ImportPreview, previewUserImport } from "../../domain/user_data/imports/import_preview.ts";
import {
  listUserImports,
  readUserImport,
  startUserImport,
  UserImport,
} from "../../domain/user_data/imports/user_import.ts";
import { type Answer, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { userIdPath } from "./user_shapes.ts";

const userEndpoint = endpointsIn("Users");
const adminEndpoint = endpointsIn("Admin users");

const StartImportRequest = z.object({
  fileId: uuid.describe("An Available CSV or JSON file of the profile document, up to 100,000 rows"),
  dryRun: z.boolean().nullish().transform((value) => value ?? false).describe(
    "true checks every row and writes no user",
  ),
}).meta({ id: "StartUserImportDto" });

const started = {
  202: {
    description: "The import runs in the background",
    schema: z.object({ importId: z.guid() }).meta({ id: "UserImportStarted" }),
  },
};
const FILE_PROBLEMS = [
  "FILE_NOT_FOUND",
  "FILE_NOT_AVAILABLE_CONFLICT",
  "FILE_INFECTED_CONFLICT",
  "FILE_PURGED_CONFLICT",
] as const;
const page = {
  200: {
    description: "A page of imports",
    schema: pagedResultOf(UserImport).meta({ id: "UserImportPage" }),
  },
};
const one = { 200: { description: "The import", schema: UserImport } };
const pages = z.object(pageQuery());
const mayImport = inTenant("create:users");
const mayImportAnywhere = acrossTenants("admin:system", "manage:all-users");
const ofTenant = "/api/v1/users/imports";
const ofAll = "/api/v1/admin/users/imports";

async function start(
  p: ServicePlatform,
  caller: Caller,
  o: { fileId: string; dryRun: boolean; tenantId: string | null; path: string },
): Promise<Answer> {
  const importId = await startUserImport(p, caller, o);
  return { status: 202, headers: { location: `${o.path}/${importId}` }, body: { importId } };
}

/** Imports of users from a file: into the token's tenant, and into tenants that the rows name. */
export const userImportRoutes = [
  userEndpoint(`POST ${ofTenant}`, {
    id: "startUserImport",
    summary: "Import users of a file into the tenant",
    details: "Rows that change an existing user need `update:users` too; without it they fail alone.",
    access: mayImport,
    body: StartImportRequest,
    creates: "atomically",
    answers: started,
    problems: [...FILE_PROBLEMS, "STEP_UP_REQUIRED_FORBIDDEN"],
    run: ({ platform, caller, body }) =>
      start(platform, caller, { ...body, tenantId: caller.tenantId, path: ofTenant }),
  }),
  userEndpoint(`GET ${ofTenant}`, {
    id: "listUserImports",
    summary: "List the tenant's imports of users, newest first",
    access: mayImport,
    query: pages,
    answers: page,
    run: async ({ db, caller, query }) => ok(await listUserImports(db, caller.tenantId, query)),
  }),
  userEndpoint(`GET ${ofTenant}/{id}`, {
    id: "readUserImport",
    summary: "Read an import of users",
    access: mayImport,
    params: userIdPath,
    answers: one,
    problems: ["USER_IMPORT_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readUserImport(db, caller.tenantId, params.id)),
  }),
  userEndpoint(`GET ${ofTenant}/{id}/preview`, {
    id: "previewUserImport",
    summary: "Show the first rows of an import and the rows that failed",
    details:
      "After a dry run these are the errors before anything is written. For who started the import, and with read:files. " +
      "Files that have ended are left out.",
    access: mayImport,
    params: userIdPath,
    answers: { 200: { description: "The rows", schema: ImportPreview } },
    problems: ["USER_IMPORT_NOT_FOUND", "FORBIDDEN"],
    run: async ({ platform, caller, params }) => ok(await previewUserImport(platform, caller, params.id)),
  }),
  adminEndpoint(`POST ${ofAll}`, {
    id: "startUserImportAnywhere",
    summary: "Import users of a file whose rows name their tenants; the file is one of the token's tenant",
    access: mayImportAnywhere,
    body: StartImportRequest,
    creates: "atomically",
    answers: started,
    problems: [...FILE_PROBLEMS, "STEP_UP_REQUIRED_FORBIDDEN"],
    run: ({ platform, caller, body }) => start(platform, caller, { ...body, tenantId: null, path: ofAll }),
  }),
  adminEndpoint(`GET ${ofAll}`, {
    id: "listUserImportsAnywhere",
    summary: "List the imports into several tenants, newest first",
    access: mayImportAnywhere,
    query: pages,
    answers: page,
    run: async ({ db, query }) => ok(await listUserImports(db, null, query)),
  }),
  adminEndpoint(`GET ${ofAll}/{id}`, {
    id: "readUserImportAnywhere",
    summary: "Read an import into several tenants",
    access: mayImportAnywhere,
    params: userIdPath,
    answers: one,
    problems: ["USER_IMPORT_NOT_FOUND"],
    run: async ({ db, params }) => ok(await readUserImport(db, null, params.id)),
  }),
] as const;
