import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the files area. */
export const FILE_PROBLEMS = {
  FILE_NOT_FOUND: entry(
    404,
    "File not found",
    "The tenant has no file with this id.",
    "Check the id.",
  ),
  FILE_PROFILE_UNKNOWN: entry(
    400,
    "Upload profile not found",
    "Callers cannot use an upload profile with this name.",
    "Use one of the profiles that the detail lists.",
  ),
  FILE_TOO_LARGE_UNPROCESSABLE: entry(
    422,
    "File is too large",
    "The declared size is larger than the limit of the upload profile.",
    "Upload a smaller file, or use a profile with a higher limit.",
  ),
  FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE: entry(
    422,
    "Content type not allowed",
    "The upload profile does not allow the declared or the detected content type.",
    "Use a profile that allows this type.",
  ),
  FILE_ARCHIVE_LIMITS_UNPROCESSABLE: entry(
    422,
    "Archive cannot be scanned",
    "The archive has too many levels or entries, is too large when unpacked, or does not match its own directory. The last scan attempt says which. The content was destroyed.",
    "Upload a smaller or simpler archive, or its files one by one.",
  ),
  FILE_NOT_UPLOADED_CONFLICT: entry(
    409,
    "No content was uploaded",
    "The upload cannot be confirmed because storage has no content for the reservation.",
    "PUT the content to the upload URL first.",
  ),
  FILE_UPLOAD_EXPIRED_CONFLICT: entry(
    409,
    "Reservation has expired",
    "The time to upload and confirm the file is over.",
    "Create a new reservation and upload again.",
  ),
  FILE_SIZE_MISMATCH_UNPROCESSABLE: entry(
    422,
    "Size differs from the declared size",
    "The stored content does not have the size that the reservation declared. The content was discarded.",
    "Create a new reservation with the actual size.",
  ),
  FILE_NOT_AVAILABLE_CONFLICT: entry(
    409,
    "File is not available",
    "The file is not uploaded, is not scanned yet, or could not be scanned.",
    "Wait for the scan, then check the file's status.",
  ),
  FILE_INFECTED_CONFLICT: entry(
    409,
    "File is infected",
    "The scan found a known signature, so the content was destroyed.",
    "Do not use the file. Its record names the signature.",
  ),
  FILE_PURGED_CONFLICT: entry(
    409,
    "File was purged",
    "The content was destroyed. The detail says when and why.",
    "Upload the file again if you still need it.",
  ),
  FILE_STILL_REFERENCED_CONFLICT: entry(
    409,
    "File is still referenced",
    "The file cannot be purged because references to it exist. The errors list names their scopes.",
    "Release the references first.",
  ),
  FILE_LEGAL_HOLD_CONFLICT: entry(
    409,
    "File is under legal hold",
    "The content cannot be destroyed while a legal hold exists.",
    "Release the hold first. That needs the permission retain:files.",
  ),
  FILE_RETENTION_SHORTENED_UNPROCESSABLE: entry(
    422,
    "Retention cannot be shortened",
    "The change would end the file's retention earlier than it is set now.",
    "Set a later date or a longer retention class.",
  ),
  FILE_STORAGE_UNAVAILABLE: entry(
    503,
    "Storage unavailable",
    "The object store cannot be reached. Nothing was changed.",
    "Try again later. Uploaded content is not lost.",
  ),
  FILE_SCAN_UNAVAILABLE: entry(
    503,
    "Scan engine unavailable",
    "The scan engine cannot be reached. Files stay in Scanning until it answers.",
    "Try again later. No content is lost.",
  ),
} satisfies Record<string, CatalogueEntry>;
