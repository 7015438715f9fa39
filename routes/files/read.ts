import { inFileModule, requireStepUpOfFactorHolder } from "../../domain/rights/checks.ts";
import { giveDownloadUrl } from "../../domain/files/download.ts";
import { FileRecord, fileRecord, readVisibleFile } from "../../domain/files/file.ts";
import { isPersonalExport } from "../../domain/files/profiles.ts";
import { listScanAttempts, ScanAttempt } from "../../domain/files/scan_attempts.ts";
import { readScannerStatus, ScannerReport } from "../../domain/files/scanner_status.ts";
import { z } from "zod";
import { ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { DownloadQuery, FileDownload, ofFile, ScanAttemptsQuery } from "./shapes.ts";

const endpoint = endpointsIn("Files");

const access = inFileModule("read:files");

/** Reads a file record, its scan attempts and its download URL. */
export const readRoutes = [
  endpoint("GET /api/v1/files/scanner-status", {
    id: "readScannerStatus",
    service: "waits for others",
    summary: "Read the scanner's engine, signature age and queue length",
    access,
    answers: { 200: { description: "The scanner", schema: ScannerReport } },
    problems: ["FILE_SCAN_UNAVAILABLE", "FORBIDDEN"],
    run: async ({ platform }) => ok(await readScannerStatus(platform)),
  }),
  endpoint("GET /api/v1/files/{id}", {
    id: "readFile",
    service: "point read",
    summary: "Read the record of a file of any status, also of a purged file",
    access,
    ...ofFile,
    answers: { 200: { etag: true, description: "The file", schema: FileRecord } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ db, caller, params }) {
      const file = await readVisibleFile(db, caller, params.id);
      return okVersioned(fileRecord(file), file.version);
    },
  }),
  endpoint("GET /api/v1/files/{id}/download-url", {
    id: "giveDownloadUrl",
    summary: "Get a short-lived download URL of the content",
    access,
    ...ofFile,
    query: DownloadQuery,
    answers: { 200: { description: "The URL and its expiry", schema: FileDownload } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
      "FORBIDDEN",
      "STEP_UP_REQUIRED_FORBIDDEN",
    ],
    async run({ platform, db, caller, params, query }) {
      const file = await readVisibleFile(db, caller, params.id);
      if (isPersonalExport(file)) requireStepUpOfFactorHolder(caller);
      return ok(await giveDownloadUrl(platform, caller, file, query.purpose));
    },
  }),
  endpoint("GET /api/v1/files/{id}/scan-attempts", {
    id: "listScanAttempts",
    summary: "List the scan attempts of a file, newest first",
    access,
    ...ofFile,
    query: ScanAttemptsQuery,
    answers: { 200: { description: "The attempts", schema: z.array(ScanAttempt) } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ db, caller, params, query }) {
      const file = await readVisibleFile(db, caller, params.id);
      return ok(await listScanAttempts(db, file.id, query));
    },
  }),
] as const;
