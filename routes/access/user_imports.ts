import { z } from "zod";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { ImportPreview, previewUserImport } from "../../domain/user_data/imports/import_preview.ts";
import {
  listUserImports,
  readUserImport,
  startUserImport,
  UserImport,
} from "../../domain/user_data/imports/user_import.ts";
import { ok } from "../shared/answer.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { uuid, withDefault } from "../../domain/shared/shapes.ts";
import { ofAllTenants, ofTenant, type UserReach } from "./user_reach.ts";
import { userIdPath } from "./user_shapes.ts";

const StartImportRequest = z.object({
  fileId: uuid.describe("An Available CSV or JSON file of the profile document, up to 100,000 rows"),
  dryRun: withDefault(z.boolean(), false).describe(
    "true checks every row and writes no user",
  ),
}).meta({ id: "StartUserImportDto" });

const started = {
  202: {
    description: "The import runs in the background",
    schema: z.object({ importId: z.guid() }).meta({ id: "UserImportStarted" }),
  },
};
const page = {
  200: { description: "A page of imports", schema: pagedResultOf(UserImport).meta({ id: "UserImportPage" }) },
};

/** Imports of users from a file: into the token's tenant, or into tenants that the rows name. */
function importRoutes<C extends Caller, P extends string, E extends string>(
  { endpoint, users, access, within, idEnd }: UserReach<C, P, E>,
  texts: Record<"start" | "list" | "read", { summary: string; details?: string }>,
) {
  const imports = `${users}/imports`;
  const mayImport = access("create:users");
  return [
    endpoint(`POST ${imports}`, {
      id: `startUserImport${idEnd}` as const,
      ...texts.start,
      access: mayImport,
      body: StartImportRequest,
      creates: "atomically",
      answers: started,
      problems: ["FILE_NOT_FOUND", ...FILE_REFUSALS, "STEP_UP_REQUIRED_FORBIDDEN"],
      async run({ platform, caller, body }) {
        const importId = await startUserImport(platform, caller, { ...body, tenantId: within(caller) });
        return { status: 202, headers: { location: `${imports}/${importId}` }, body: { importId } };
      },
    }),
    endpoint(`GET ${imports}`, {
      id: `listUserImports${idEnd}` as const,
      ...texts.list,
      access: mayImport,
      query: z.object(pageQuery()),
      answers: page,
      run: async ({ db, caller, query }) => ok(await listUserImports(db, within(caller), query)),
    }),
    endpoint(`GET ${imports}/{id}`, {
      id: `readUserImport${idEnd}` as const,
      ...texts.read,
      access: mayImport,
      params: userIdPath,
      answers: { 200: { description: "The import", schema: UserImport } },
      problems: ["USER_IMPORT_NOT_FOUND"],
      run: async ({ db, caller, params }) => ok(await readUserImport(db, within(caller), params.id)),
    }),
  ] as const;
}

export const userImportRoutes = [
  ...importRoutes(ofTenant, {
    start: {
      summary: "Import users of a file into the tenant",
      details: "Rows that change an existing user need `update:users` too; without it they fail alone.",
    },
    list: { summary: "List the tenant's imports of users, newest first" },
    read: { summary: "Read an import of users" },
  }),
  ofTenant.endpoint(`GET ${ofTenant.users}/imports/{id}/preview`, {
    id: "previewUserImport",
    summary: "Show the first rows of an import and the rows that failed",
    details:
      "After a dry run these are the errors before anything is written. For who started the import, and with read:files. " +
      "Files that have ended are left out.",
    access: ofTenant.access("create:users"),
    params: userIdPath,
    answers: { 200: { description: "The rows", schema: ImportPreview } },
    problems: ["USER_IMPORT_NOT_FOUND", "FORBIDDEN"],
    run: async ({ platform, caller, params }) => ok(await previewUserImport(platform, caller, params.id)),
  }),
  ...importRoutes(ofAllTenants, {
    start: {
      summary: "Import users of a file whose rows name their tenants; the file is one of the token's tenant",
    },
    list: { summary: "List the imports into several tenants, newest first" },
    read: { summary: "Read an import into several tenants" },
  }),
] as const;
