import { z } from "zod";
import { MAX_PARTS } from "../../domain/files/parts.ts";
import { orNull } from "../../domain/shared/shapes.ts";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import { inFileModule } from "../../domain/rights/checks.ts";
import { completeFile } from "../../domain/files/complete.ts";
import { FileRecord, fileRecord } from "../../domain/files/file.ts";
import {
  Reservation,
  ReservationRequest,
  reserveFile,
  ResumeRequest,
  resumeUpload,
  UploadProgress,
} from "../../domain/files/reserve.ts";
import { created, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { ofFile } from "./shapes.ts";

const endpoint = endpointsIn("Files");

const ETAG = /^"?([\x21\x23-\x7e]{1,128}?)"?$/;

const storedPart = z.object({
  partNumber: z.int().min(1).max(MAX_PARTS),
  etag: z.string().regex(ETAG, "expected the ETag storage answered").transform((etag) =>
    etag.replaceAll('"', "")
  ),
});

const CompleteFileRequest = z.object({
  parts: orNull(z.array(storedPart).min(1).max(MAX_PARTS)),
}).meta({
  id: "CompleteFileRequest",
  description: "Only for a reservation with parts: all parts, each with the ETag that storage answered.",
});

/** Reserves and confirms uploads. The client sends the content directly to storage. */
export const uploadRoutes = [
  endpoint("POST /api/v1/files", {
    id: "reserveFile",
    summary: "Reserve a file and get its upload URL",
    access: inFileModule("upload:files"),
    body: ReservationRequest,
    creates: "in steps", // a multipart upload starts at the store, and a transaction must not wait for that
    answers: { 201: { description: "The reservation", schema: Reservation } },
    problems: [
      "FILE_PROFILE_UNKNOWN",
      "FILE_TOO_LARGE_UNPROCESSABLE",
      "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
      "FILE_STORAGE_UNAVAILABLE",
      "FORBIDDEN",
    ],
    async run({ platform, caller, body, once }) {
      const reservation = await reserveFile(platform, caller, body, once);
      return created(reservation, `/api/v1/files/${reservation.fileId}`);
    },
  }),
  endpoint("POST /api/v1/files/{id}/parts", {
    id: "resumeFileUpload",
    service: "waits for others",
    summary: "Read which parts storage has, and get fresh URLs for the others; extends the reservation",
    access: inFileModule("upload:files"),
    ...ofFile,
    body: ResumeRequest,
    bodyOptional: true,
    answers: { 200: { description: "The received and the missing parts", schema: UploadProgress } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_NOT_UPLOADED_CONFLICT",
      "FILE_UPLOAD_EXPIRED_CONFLICT",
      ...FILE_REFUSALS,
      "FILE_STORAGE_UNAVAILABLE",
      "FORBIDDEN",
    ],
    run: async ({ platform, caller, params, body }) =>
      ok(await resumeUpload(platform, caller, params.id, body)),
  }),
  endpoint("POST /api/v1/files/{id}/complete", {
    id: "completeFile",
    service: "waits for others",
    summary: "Confirm an upload; starts the scan",
    access: inFileModule("upload:files"),
    ...ofFile,
    // read only for a reservation with parts; other confirmations have no body
    content: { json: CompleteFileRequest },
    bodyOptional: true,
    answers: { 200: { etag: true, description: "The file, with status Scanning", schema: FileRecord } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_NOT_UPLOADED_CONFLICT",
      "FILE_UPLOAD_EXPIRED_CONFLICT",
      "FILE_SIZE_MISMATCH_UNPROCESSABLE",
      ...FILE_REFUSALS,
      "FILE_STORAGE_UNAVAILABLE",
      "FORBIDDEN",
    ],
    async run({ platform, caller, params, call }) {
      const file = await completeFile(
        platform,
        caller,
        params.id,
        async () => (await call.readJson(CompleteFileRequest, { optional: true })).parts,
      );
      return okVersioned(fileRecord(file), file.version);
    },
  }),
] as const;
