import { z } from "zod";
import { readVisibleFile } from "../../domain/files/file.ts";
import { MAX_PARTS } from "../../domain/files/parts.ts";
import { isJobReason } from "../../domain/files/purge_reasons.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { PICTURE_FITS, PICTURE_FORMATS } from "../../infra/pictures/pictures.ts";
import { isUuid } from "../../domain/shared/ids.ts";
import type { FindInput } from "../shared/endpoint.ts";
import { orNull, requiredName, requiredText, uuid } from "../../domain/shared/shapes.ts";

/** Members of every route that names a file. */
export const ofFile = {
  params: z.object({ id: uuid }),
  find: async ({ db, caller, params: { id = "" } }: FindInput<Caller>) => {
    if (isUuid(id)) await readVisibleFile(db, caller, id);
  },
};

const ETAG = /^"?([\x21\x23-\x7e]{1,128}?)"?$/;

const storedPart = z.object({
  partNumber: z.int().min(1).max(MAX_PARTS),
  etag: z.string().regex(ETAG, "expected the ETag storage answered").transform((etag) =>
    etag.replaceAll('"', "")
  ),
});

export const CompleteFileRequest = z.object({
  parts: orNull(z.array(storedPart).min(1).max(MAX_PARTS)),
}).meta({
  id: "CompleteFileRequest",
  description: "Only for a reservation with parts: all parts, each with the ETag that storage answered.",
});

const RenditionSize = z.object({
  width: z.int().optional(),
  height: z.int().optional(),
  fit: z.enum(PICTURE_FITS),
  format: z.enum(PICTURE_FORMATS),
}).meta({ id: "FileRenditionSize" });

export const FileProfileDto = z.object({
  name: z.string(),
  maxBytes: z.int(),
  contentTypes: z.array(z.string()).describe("Allowed media types"),
  renditions: z.record(z.string(), RenditionSize).describe("Sizes of pictures of its files, by name"),
}).meta({ id: "FileProfile" });

export const FileDownload = z.object({ url: z.url(), expiresAt: z.iso.datetime() }).meta({
  id: "FileDownload",
});

export const ReferenceRequest = z.object({
  scope: requiredName(100),
  ownerId: requiredName(200),
}).meta({ id: "ReferenceRequest" });

export const PurgeRequest = z.object({
  reason: requiredText(1000).refine(
    (reason) => !isJobReason(reason),
    "expected a reason of the caller's own: those that begin with job: are the service's",
  ),
}).meta({ id: "PurgeRequest" });
