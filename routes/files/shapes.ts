import { z } from "zod";
import { DOWNLOAD_PURPOSES } from "../../domain/files/download.ts";
import { readVisibleFile, RETENTION_CLASSES } from "../../domain/files/file.ts";
import { MAX_PARTS } from "../../domain/files/parts.ts";
import { isJobReason } from "../../domain/files/purge_reasons.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { isUuid } from "../../domain/shared/ids.ts";
import type { FindInput } from "../shared/endpoint.ts";
import { pageQuery } from "../shared/paging.ts";
import { enumName, instant, uuid } from "../shared/validation.ts";

const time = z.iso.datetime();

/** Members of every route that names a file. */
export const ofFile = {
  params: z.object({ id: uuid }),
  find: async ({ db, caller, params: { id = "" } }: FindInput<Caller>) => {
    if (isUuid(id)) await readVisibleFile(db, caller, id);
  },
};
export const FileReferenceId = ofFile.params.extend({ referenceId: uuid });

export const ReserveFileRequest = z.object({
  profile: z.string().min(1).max(64),
  fileName: z.string().normalize("NFC").max(1024).refine((name) => name.trim() !== "", "expected a name"),
  contentType: z.string().max(255).regex(
    /^[\x21-\x7e]+( [\x21-\x7e]+)*$/,
    "expected a media type of printable ASCII without leading, trailing or double spaces",
  ),
  sizeBytes: z.int().min(1),
  isProduct: z.boolean().nullish().transform((value) => value ?? false),
  parts: z.union([z.boolean(), z.int().min(1).max(MAX_PARTS)], {
    error: `expected true, or a number of parts from 1 to ${MAX_PARTS}`,
  }).nullish().transform((value) => value || null).meta({
    description:
      "Answers URLs to upload in parts as well: true for as many as suit the size, or their number",
  }),
}).meta({ id: "ReserveFileRequest" });

const PartReservation = z.object({
  partNumber: z.int(),
  sizeBytes: z.int().meta({ description: "Exact size of the part" }),
  uploadUrl: z.url().meta({
    description: "PUT the part to this URL; send the ETag of the answer in the confirmation",
  }),
  requiredHeaders: z.record(z.string(), z.string()),
}).meta({ id: "FilePartReservation" });

export const FileReservation = z.object({
  fileId: z.guid(),
  uploadUrl: z.url().meta({ description: "PUT the content to this URL, directly to storage" }),
  uploadExpiresAt: time,
  requiredHeaders: z.record(z.string(), z.string()).meta({
    description: "Headers the PUT must send unchanged; storage refuses other values",
  }),
  parts: z.array(PartReservation).optional().meta({
    description: "If parts were requested: upload the content in these parts instead of one PUT to uploadUrl",
  }),
}).meta({ id: "FileReservation" });

const ETAG = /^"?([\x21\x23-\x7e]{1,128}?)"?$/;

export const CompleteFileRequest = z.object({
  parts: z.array(z.object({
    partNumber: z.int().min(1).max(MAX_PARTS),
    etag: z.string().regex(ETAG, "expected the ETag storage answered").transform((etag) =>
      etag.replaceAll('"', "")
    ),
  })).min(1).max(MAX_PARTS).nullish().transform((value) => value ?? null),
}).meta({
  id: "CompleteFileRequest",
  description: "Only for a reservation with parts: all parts, each with the ETag that storage answered.",
});

export const FileProfileDto = z.object({
  name: z.string(),
  maxBytes: z.int(),
  contentTypes: z.array(z.string()).meta({ description: "Allowed media types" }),
}).meta({ id: "FileProfile" });

export const FileDownload = z.object({ url: z.url(), expiresAt: time }).meta({ id: "FileDownload" });

export const DownloadQuery = z.object({ purpose: enumName(DOWNLOAD_PURPOSES).default("download") });

export const ScanAttemptsQuery = z.object(pageQuery(100, 100));

export const ReferenceRequest = z.object({
  scope: z.string().trim().min(1).max(100),
  ownerId: z.string().trim().min(1).max(200),
}).meta({ id: "ReferenceRequest" });

export const RetentionRequest = z.object({
  retentionClass: enumName(RETENTION_CLASSES).nullish(),
  retainUntil: instant.nullish(),
  legalHold: z.boolean().nullish(),
  reason: z.string().max(1000).nullish(),
}).meta({
  id: "RetentionRequest",
  description: "Omitted fields keep their values; retainUntil null removes the date.",
});

export const PurgeRequest = z.object({
  reason: z.string().trim().min(1).max(1000).refine(
    (reason) => !isJobReason(reason),
    "expected a reason of the caller's own: those that begin with job: are the service's",
  ),
}).meta({ id: "PurgeRequest" });
