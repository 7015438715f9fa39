import { z } from "zod";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import { inFileModule } from "../../domain/rights/checks.ts";
import { profilesOf } from "../../domain/files/profiles.ts";
import {
  FILE_STATUSES,
  FileRecord,
  fileRecord,
  readVisibleFile,
  RETENTION_CLASSES,
} from "../../domain/files/file.ts";
import { isJobReason, PURGE_KINDS } from "../../domain/files/purge_reasons.ts";
import { PICTURE_FITS, PICTURE_FORMATS } from "../../infra/pictures/pictures.ts";
import { listFiles } from "../../domain/files/list.ts";
import { FileReference, listReferences } from "../../domain/files/references.ts";
import { ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryBoolean, queryInstant } from "../shared/validation.ts";
import { ofFile } from "./shapes.ts";
import { purgeFile } from "../../domain/files/purge_file.ts";
import { changeRetention, RetentionChange } from "../../domain/files/retention.ts";

const endpoint = endpointsIn("Files");

const RenditionSize = z.object({
  width: z.int().optional(),
  height: z.int().optional(),
  fit: z.enum(PICTURE_FITS),
  format: z.enum(PICTURE_FORMATS),
}).meta({ id: "FileRenditionSize" });

const FileProfileDto = z.object({
  name: z.string(),
  maxBytes: z.int(),
  contentTypes: z.array(z.string()).describe("Allowed media types"),
  renditions: z.record(z.string(), RenditionSize).describe("Sizes of pictures of its files, by name"),
}).meta({ id: "FileProfile" });

const PurgeRequest = z.object({
  reason: requiredText(1000).refine(
    (reason) => !isJobReason(reason),
    "expected a reason of the caller's own: those that begin with job: are the service's",
  ),
}).meta({ id: "PurgeRequest" });

const access = inFileModule("read:files");

/** Lists of files, upload profiles and references of a file. */
export const listRoutes = [
  endpoint("GET /api/v1/files", {
    id: "listFiles",
    summary: "List the tenant's files of any status, newest first, or the product files",
    access,
    query: z.object({
      ...pageQuery(),
      status: enumName(FILE_STATUSES).optional(),
      purgeKind: enumName(PURGE_KINDS).optional().describe(
        "Only Purged files: rejected by the service, expired, or purged on request",
      ),
      profile: z.string().max(64).optional(),
      search: z.string().max(200).optional().describe("Part of the file name"),
      createdBy: uuid.optional(),
      legalHold: queryBoolean.optional(),
      retentionClass: enumName(RETENTION_CLASSES).optional(),
      fromDate: queryInstant.optional(),
      toDate: queryInstant.optional().describe("Inclusive"),
      isProduct: queryBoolean.optional().describe("true: product files, which all tenants share"),
    }),
    answers: { 200: { description: "A page of files", schema: pagedResultOf(FileRecord) } },
    problems: ["FORBIDDEN"],
    run: async ({ db, caller, query }) => ok(await listFiles(db, caller, query)),
  }),
  endpoint("GET /api/v1/files/profiles", {
    id: "listFileProfiles",
    summary: "List the upload profiles: maximum size and media types",
    access: inFileModule("upload:files"),
    answers: { 200: { description: "The profiles", schema: z.array(FileProfileDto) } },
    problems: ["FORBIDDEN"],
    run: ({ platform }) =>
      ok(
        [...profilesOf(platform.config).values()].filter(({ serviceOnly }) => !serviceOnly)
          .map(({ name, maxBytes, contentTypes, renditions = {} }) => ({
            name,
            maxBytes,
            contentTypes: [...contentTypes],
            renditions,
          })),
      ),
  }),
  endpoint("GET /api/v1/files/{id}/references", {
    id: "listFileReferences",
    summary: "List the references of a file, oldest first",
    access,
    ...ofFile,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of references", schema: pagedResultOf(FileReference) } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ db, caller, params, query }) {
      const file = await readVisibleFile(db, caller, params.id);
      return ok(await listReferences(db, caller, file, query));
    },
  }),
] as const;

/** Retention and purge of a file. */
export const retentionRoutes = [
  endpoint("PUT /api/v1/files/{id}/retention", {
    id: "changeRetention",
    summary: "Extend the retention of a file, or set or release its legal hold",
    access: inFileModule("retain:files"),
    ...ofFile,
    body: RetentionChange,
    answers: { 200: { etag: true, description: "The file", schema: FileRecord } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_PURGED_CONFLICT",
      "FILE_RETENTION_SHORTENED_UNPROCESSABLE",
      "PRECONDITION_FAILED",
      "FORBIDDEN",
    ],
    async run({ platform, caller, params, body, call }) {
      const file = await changeRetention(platform, caller, params.id, body, call.ifMatch);
      return okVersioned(fileRecord(file), file.version);
    },
  }),
  endpoint("POST /api/v1/files/{id}/purge", {
    id: "purgeFile",
    service: "waits for others",
    summary: "Delete the content; the record stays as a tombstone",
    access: inFileModule("purge:files"),
    ...ofFile,
    body: PurgeRequest,
    answers: { 200: { description: "The tombstone", schema: FileRecord } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_STILL_REFERENCED_CONFLICT",
      "FILE_LEGAL_HOLD_CONFLICT",
      ...FILE_REFUSALS,
      "FORBIDDEN",
    ],
    run: async ({ platform, caller, params, body }) =>
      ok(await purgeFile(platform, caller, params.id, body.reason)),
  }),
] as const;
