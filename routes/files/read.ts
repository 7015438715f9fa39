import { inFileModule, requireStepUpOfFactorHolder } from "../../domain/rights/checks.ts";
import { DOWNLOAD_PURPOSES, giveDownloadUrl } from "../../domain/files/download.ts";
import { FileRecord, fileRecord, readVisibleFile } from "../../domain/files/file.ts";
import { isPersonalExport } from "../../domain/files/profiles.ts";
import { listScanAttempts, ScanAttempt } from "../../domain/files/scan_attempts.ts";
import { readScannerStatus, ScannerReport } from "../../domain/files/scanner_status.ts";
import { z } from "zod";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import { created, noContent, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { FileDownload, ofFile } from "./shapes.ts";
import { FileReference, referenceFile, releaseReference } from "../../domain/files/references.ts";
import { SERVICE_SCOPES } from "../../domain/files/service_scopes.ts";
import {
  giveRenditionUrl,
  listRenditions,
  makeRendition,
  Rendition,
  RenditionRequest,
} from "../../domain/files/renditions.ts";
import { pageQuery, queryBoolean } from "../shared/validation.ts";
import { enumName, requiredName, uuid } from "../../domain/shared/shapes.ts";

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
    query: z.object({ purpose: enumName(DOWNLOAD_PURPOSES).default("download") }),
    answers: { 200: { description: "The URL and its expiry", schema: FileDownload } },
    problems: [
      "FILE_NOT_FOUND",
      ...FILE_REFUSALS,
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
    query: z.object(pageQuery(100, 100)),
    answers: { 200: { description: "The attempts", schema: z.array(ScanAttempt) } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ db, caller, params, query }) {
      const file = await readVisibleFile(db, caller, params.id);
      return ok(await listScanAttempts(db, file.id, query));
    },
  }),
] as const;

const uploads = inFileModule("upload:files");

/** References of a file. A file with a reference is neither collected nor purged. */
export const referenceRoutes = [
  endpoint("POST /api/v1/files/{id}/references", {
    id: "referenceFile",
    summary: "Add a reference to a file",
    details:
      `In these scopes, the service itself holds files for owners whose id is a UUIDv7; such pairs are refused: ${
        Object.values(SERVICE_SCOPES).join(", ")
      }.`,
    access: uploads,
    ...ofFile,
    body: z.object({ scope: requiredName(100), ownerId: requiredName(200) }).meta({ id: "ReferenceRequest" }),
    creates: "atomically",
    answers: {
      201: { description: "The reference; an existing one for the same owner", schema: FileReference },
    },
    problems: [
      "FILE_NOT_FOUND",
      ...FILE_REFUSALS,
      "FORBIDDEN",
    ],
    async run({ platform, caller, params, body }) {
      const reference = await referenceFile(platform, caller, params.id, body);
      return created(reference, `/api/v1/files/${params.id}/references/${reference.referenceId}`);
    },
  }),
  endpoint("DELETE /api/v1/files/{id}/references/{referenceId}", {
    id: "releaseReference",
    summary: "Release a reference; no effect if it was released",
    details:
      "The service releases its own references itself, such as those of reports. Here they answer 404.",
    access: uploads,
    ...ofFile,
    params: ofFile.params.extend({ referenceId: uuid }),
    answers: { 204: { description: "The reference is released" } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ platform, caller, params }) {
      await releaseReference(platform, caller, params.id, params.referenceId);
      return noContent();
    },
  }),
] as const;

/** Pictures of a file, in the sizes of its profile. */
export const renditionRoutes = [
  endpoint("GET /api/v1/files/{id}/renditions", {
    id: "listFileRenditions",
    summary: "List the pictures of a file that were asked for",
    access,
    ...ofFile,
    answers: { 200: { description: "The pictures", schema: z.array(Rendition) } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ db, caller, params }) {
      const file = await readVisibleFile(db, caller, params.id);
      return ok(await listRenditions(db, file.id));
    },
  }),
  endpoint("POST /api/v1/files/{id}/renditions", {
    id: "makeFileRendition",
    summary:
      "Make a picture of an image or of the first page of a PDF, in a size that the file's profile lists",
    access,
    ...ofFile,
    body: RenditionRequest,
    answers: { 200: { description: "The picture, Pending until its job has made it", schema: Rendition } },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
      ...FILE_REFUSALS,
      "FORBIDDEN",
    ],
    run: async ({ platform, caller, params, body }) =>
      ok(await makeRendition(platform, caller, params.id, body)),
  }),
  endpoint("GET /api/v1/files/{id}/renditions/{name}", {
    id: "readFileRendition",
    summary: "Get the address of a picture, which is the same all day (UTC) and may be kept by browsers",
    access,
    params: ofFile.params.extend({ name: z.string().min(1).max(64) }),
    find: ofFile.find,
    query: z.object({
      redirect: queryBoolean.default(true).describe(
        "false: answers the address as JSON, for pages that read it by script",
      ),
    }),
    answers: {
      200: { description: "The address, with redirect=false", schema: FileDownload },
      302: { description: "Redirect to the picture" },
    },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_RENDITION_NOT_FOUND",
      "FILE_RENDITION_NOT_READY_CONFLICT",
      ...FILE_REFUSALS,
      "FORBIDDEN",
    ],
    async run({ platform, db, caller, params, query }) {
      const file = await readVisibleFile(db, caller, params.id);
      const address = await giveRenditionUrl(platform, file, params.name);
      if (!query.redirect) return ok(address);
      return {
        status: 302,
        headers: { location: address.url, "referrer-policy": "no-referrer" },
        body: undefined,
      };
    },
  }),
] as const;
