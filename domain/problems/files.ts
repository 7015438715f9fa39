import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of the files area. */
export const FILE_PROBLEMS = {
  FILE_NOT_FOUND: entry(
    404,
    "No such file",
    "The file does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  FILE_PROFILE_UNKNOWN: entry(
    400,
    "Unknown profile",
    "No upload profile of this name is open to callers.",
    "Use one of the profiles the detail lists.",
  ),
  FILE_TOO_LARGE_UNPROCESSABLE: entry(
    422,
    "The file is too large",
    "The declared size is over the ceiling of the profile.",
    "Send a smaller file, or use a profile with a higher ceiling.",
  ),
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: entry(
    422,
    "The content type is not allowed",
    "The declared or the real content type is not one of the profile.",
    "Use a profile that takes this type.",
  ),
  FILE_ARCHIVE_LIMITS_UNPROCESSABLE: entry(
    422,
    "The archive cannot be scanned up to its end",
    "The archive has too many levels or entries, unpacks to too much, or is not what its directory says. The last scan " +
      "attempt says which. The content was destroyed.",
    "Send a smaller or plainer archive, or its files one by one.",
  ),
  FILE_NOT_UPLOADED_CONFLICT: entry(
    409,
    "Nothing was uploaded",
    "The reservation is confirmed, but storage holds no content for it.",
    "PUT the content to the upload URL first.",
  ),
  FILE_UPLOAD_EXPIRED_CONFLICT: entry(
    409,
    "The reservation has expired",
    "The time to upload and confirm is over.",
    "Reserve anew and upload again.",
  ),
  FILE_SIZE_MISMATCH_UNPROCESSABLE: entry(
    422,
    "Another size than declared",
    "The stored content has another size than the reservation declared; it was discarded.",
    "Reserve anew with the true size.",
  ),
  FILE_NOT_AVAILABLE_CONFLICT: entry(
    409,
    "The file is not available",
    "The file is not uploaded, not scanned yet, or could not be read.",
    "Wait for the scan; look at the state of the file.",
  ),
  FILE_INFECTED_CONFLICT: entry(
    409,
    "The file is infected",
    "The scan found a known signature; the content was destroyed.",
    "Do not use the file; its record names the signature.",
  ),
  FILE_PURGED_CONFLICT: entry(
    409,
    "The file was purged",
    "The content is gone; the detail says when and why.",
    "Upload it again if it is still needed.",
  ),
  FILE_STILL_REFERENCED_CONFLICT: entry(
    409,
    "The file is still referenced",
    "References hold the file; the errors list names their scopes.",
    "Release the references first.",
  ),
  FILE_LEGAL_HOLD_CONFLICT: entry(
    409,
    "The file is under legal hold",
    "A legal hold forbids destroying the content.",
    "Release the hold first, with the permission that needs.",
  ),
  FILE_RETENTION_SHORTENED_UNPROCESSABLE: entry(
    422,
    "Retention can only grow",
    "The change would keep the file for less time than promised.",
    "Ask for a later date or a stronger class.",
  ),
  FILE_STORAGE_UNAVAILABLE: entry(
    503,
    "Storage does not answer",
    "The object store cannot be reached; nothing was changed.",
    "Try again later; an upload that was made is still there.",
  ),
  FILE_SCAN_UNAVAILABLE: entry(
    503,
    "The scan engine does not answer",
    "The engine cannot be reached; files wait in Scanning meanwhile.",
    "Try again later; nothing is lost.",
  ),
} satisfies Record<string, CatalogueEntry>;
