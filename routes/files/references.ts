import { inFileModule } from "../../domain/rights/checks.ts";
import { readVisibleFile } from "../../domain/files/file.ts";
import { FileReference, referenceFile, releaseReference } from "../../domain/files/references.ts";
import { SERVICE_SCOPES } from "../../domain/files/service_scopes.ts";
import { created, noContent } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { FileReferenceId, ofFile, ReferenceRequest } from "./shapes.ts";

const endpoint = endpointsIn("Files");

const access = inFileModule("upload:files");

/** References of a file. A file with a reference is neither collected nor purged. */
export const referenceRoutes = [
  endpoint("POST /api/v1/files/{id}/references", {
    id: "referenceFile",
    summary: "Add a reference to a file",
    details:
      `In these scopes, the service itself holds files for owners whose id is a UUIDv7; such pairs are refused: ${
        Object.values(SERVICE_SCOPES).join(", ")
      }.`,
    access,
    ...ofFile,
    body: ReferenceRequest,
    creates: "atomically",
    answers: {
      201: { description: "The reference; an existing one for the same owner", schema: FileReference },
    },
    problems: [
      "FILE_NOT_FOUND",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
      "FORBIDDEN",
    ],
    async run({ platform, db, caller, params, body }) {
      const file = await readVisibleFile(db, caller, params.id);
      const reference = await referenceFile(platform, caller, file.id, body);
      return created(reference, `/api/v1/files/${file.id}/references/${reference.referenceId}`);
    },
  }),
  endpoint("DELETE /api/v1/files/{id}/references/{referenceId}", {
    id: "releaseReference",
    summary: "Release a reference; no effect if it was released",
    details:
      "The service releases its own references itself, such as those of reports. Here they answer 404.",
    access,
    ...ofFile,
    params: FileReferenceId,
    answers: { 204: { description: "The reference is released" } },
    problems: ["FILE_NOT_FOUND", "FORBIDDEN"],
    async run({ platform, db, caller, params }) {
      const file = await readVisibleFile(db, caller, params.id);
      await releaseReference(platform, caller, file.id, params.referenceId);
      return noContent();
    },
  }),
] as const;
