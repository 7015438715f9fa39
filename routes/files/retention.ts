import { inFileModule } from "../../domain/rights/checks.ts";
import { FileRecord, fileRecord, readVisibleFile } from "../../domain/files/file.ts";
import { purgeFile } from "../../domain/files/purge_file.ts";
import { changeRetention } from "../../domain/files/retention.ts";
import { ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { ofFile, PurgeRequest, RetentionRequest } from "./shapes.ts";

const endpoint = endpointsIn("Files");

/** Retention and purge of a file. */
export const retentionRoutes = [
  endpoint("PUT /api/v1/files/{id}/retention", {
    id: "changeRetention",
    summary: "Extend the retention of a file, or set or release its legal hold",
    access: inFileModule("retain:files"),
    ...ofFile,
    body: RetentionRequest,
    answers: { 200: { etag: true, description: "The file", schema: FileRecord } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_PURGED_CONFLICT",
      "FILE_RETENTION_SHORTENED_UNPROCESSABLE",
      "PRECONDITION_FAILED",
      "FORBIDDEN",
    ],
    async run({ platform, db, caller, params, body, call }) {
      const { id } = await readVisibleFile(db, caller, params.id);
      const file = await changeRetention(platform, caller, id, body, call.ifMatch);
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
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
      "FORBIDDEN",
    ],
    async run({ platform, db, caller, params, body }) {
      const { id } = await readVisibleFile(db, caller, params.id);
      return ok(await purgeFile(platform, caller, id, body.reason));
    },
  }),
] as const;
