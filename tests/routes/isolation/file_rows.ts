import { all, named, own, type Rows } from "./rows.ts";

const file = (body?: unknown) => named("file", "FILE_NOT_FOUND", { body });

/** The file registry. */
export const fileRows: Rows = {
  ...all("listFiles listFileProfiles readScannerStatus", own()),
  ...all(
    `readFile giveDownloadUrl listScanAttempts completeFile resumeFileUpload listFileRenditions
    listFileReferences`,
    file(),
  ),
  reserveFile: own({
    body: { profile: "document", fileName: "own.pdf", contentType: "application/pdf", sizeBytes: 10 },
  }),
  makeFileRendition: file({ width: 256, height: 256, fit: "cover", format: "webp" }),
  readFileRendition: {
    names: (id) => ({ params: { id: id("file"), name: "thumbnail" } }),
    code: "FILE_NOT_FOUND",
  },
  referenceFile: file({ scope: "mallory", ownerId: "1" }),
  releaseReference: {
    names: (id) => ({ params: { id: id("file"), referenceId: id("reference") } }),
    code: "FILE_NOT_FOUND",
  },
  changeRetention: file({ retentionClass: "Permanent" }),
  purgeFile: file({ reason: "mallory" }),
};
