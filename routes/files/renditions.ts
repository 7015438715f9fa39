import { z } from "zod";
import { inFileModule } from "../../domain/rights/checks.ts";
import { readVisibleFile } from "../../domain/files/file.ts";
import {
  giveRenditionUrl,
  listRenditions,
  makeRendition,
  Rendition,
  RenditionRequest,
} from "../../domain/files/renditions.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { queryBoolean } from "../shared/validation.ts";
import { FileDownload, ofFile } from "./shapes.ts";

const endpoint = endpointsIn("Files");

const access = inFileModule("read:files");

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
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
      "FORBIDDEN",
    ],
    async run({ platform, db, caller, params, body }) {
      const file = await readVisibleFile(db, caller, params.id);
      return ok(await makeRendition(platform, caller, file, body));
    },
  }),
  endpoint("GET /api/v1/files/{id}/renditions/{name}", {
    id: "readFileRendition",
    summary: "Get the address of a picture, which is the same all day (UTC) and may be kept by browsers",
    access,
    params: ofFile.params.extend({ name: z.string().min(1).max(64) }),
    find: ofFile.find,
    query: z.object({
      redirect: queryBoolean.default(true).meta({
        description: "false: answers the address as JSON, for pages that read it by script",
      }),
    }),
    answers: {
      200: { description: "The address, with redirect=false", schema: FileDownload },
      302: { description: "Redirect to the picture" },
    },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_RENDITION_NOT_FOUND",
      "FILE_RENDITION_NOT_READY_CONFLICT",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
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
