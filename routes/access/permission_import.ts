import { inTenant } from "../../domain/rights/checks.ts";
import { importPermissionsAs } from "../../domain/access/permissions/permission_import.ts";
import { rowsOfDocument, rowsOfFile } from "../../domain/access/permissions/permission_import_rows.ts";
import { importTemplate } from "../../domain/access/permissions/permission_import_template.ts";
import { nextTurn } from "../../domain/shared/in_turns.ts";
import { ok, text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import {
  ImportItems,
  importQuery,
  importTemplateQuery,
  PermissionImportRequestDto,
  PermissionImportResultDto,
} from "./permission_shapes.ts";

const endpoint = endpointsIn("Permissions");

const IMPORT_LIMIT = 10 * 1024 * 1024;
const outcome = { 200: { description: "The result of every row", schema: PermissionImportResultDto } };

/** Import of many permissions from a JSON body or an uploaded CSV or JSON file. */
export const permissionImportRoutes = [
  endpoint("GET /api/v1/permissions/import/template", {
    id: "readImportTemplate",
    summary: "Download an import template",
    access: inTenant("create:permissions"),
    query: importTemplateQuery,
    answers: {
      200: {
        description: "The template as CSV or JSON",
        contentType: "text/csv",
        alsoAs: ["application/json"],
      },
    },
    run({ query }) {
      const template = importTemplate(query.format, query.mode);
      return text(template.text, template.contentType, {
        "content-disposition": `attachment; filename="${template.fileName}"`,
      });
    },
  }),
  endpoint("POST /api/v1/permissions/import", {
    id: "importPermissions",
    summary: "Import permissions from the body",
    access: inTenant("create:permissions"),
    query: importQuery,
    content: { json: PermissionImportRequestDto },
    bodyLimit: IMPORT_LIMIT,
    creates: "atomically",
    answers: outcome,
    async run({ platform, caller, query: { mode, ...options }, call }) {
      // A row with text that the database cannot store fails alone, like any other invalid row.
      const document = await call.readJson(PermissionImportRequestDto, { anyText: true });
      await nextTurn(); // a document may have 50,000 rows
      const rows = rowsOfDocument(
        document,
        mode,
        (document) => call.findUnknownMembers(ImportItems, document),
      );
      return ok(await importPermissionsAs(platform, caller, rows, options));
    },
  }),
  endpoint("POST /api/v1/permissions/import/file", {
    id: "importPermissionFile",
    summary: "Import permissions from a CSV or JSON file",
    access: inTenant("create:permissions"),
    query: importQuery,
    content: { file: "file" },
    bodyLimit: IMPORT_LIMIT,
    creates: "atomically",
    answers: outcome,
    problems: ["BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"],
    async run({ platform, caller, query: { mode, ...options }, call }) {
      const file = await call.readFile("file");
      await nextTurn(); // as above
      const rows = await rowsOfFile(file, mode, (document) => call.findUnknownMembers(ImportItems, document));
      return ok(await importPermissionsAs(platform, caller, rows, options));
    },
  }),
] as const;
