import { Notice, type Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import type { Locale } from "../shared/languages.ts";
import { fileStatusTexts } from "./status_texts.ts";

export type File = Row<"listFiles">;
export type ScanAttempt = Row<"listScanAttempts">;

const TONES: Record<File["status"], Tone> = {
  Pending: "idle",
  Scanning: "info",
  Available: "ok",
  Infected: "bad",
  Failed: "bad",
  Purged: "idle",
};

/** A file's status as a coloured label. */
export const FileStatusBadge = ({ locale, status }: { locale: Locale; status: File["status"] }) => (
  <Badge tone={TONES[status]}>{fileStatusTexts[locale][status]}</Badge>
);

/** Whether the status may change soon without user action, so that a page should refresh. */
export const isMoving = ({ status }: File): boolean => status === "Pending" || status === "Scanning";

/** Explains the file's status and its reason. */
export function StatusNotice({ v, file }: { v: Visit; file: File }) {
  const { title, text } = explainStatus(v.locale, file);
  return <Notice tone={TONES[file.status]} title={title}>{text}</Notice>;
}

function explainStatus(locale: Locale, file: File): { title: string; text: string } {
  const t = fileStatusTexts[locale];
  const title = t[file.status];
  switch (file.status) {
    case "Pending":
      return { title, text: t.PendingText };
    case "Scanning":
      return { title, text: t.ScanningText };
    case "Available":
      return { title, text: t.AvailableText };
    case "Failed":
      return { title, text: t.FailedText };
    case "Infected":
      return { title, text: t.InfectedText(file.signatureName ?? "–") };
    case "Purged":
      return { title, text: purgeText(locale, file.purgeReason) };
  }
}

/** Explains a purge reason. Reasons that start with "job:" come from the service; a user wrote any other. */
function purgeText(locale: Locale, reason: string | null): string {
  const t = fileStatusTexts[locale];
  switch (reason) {
    case "job:tipo-reprovado":
    case "job:archive-limits":
    case "job:upload-expired":
    case "job:size-mismatch":
    case "job:retention-expired":
      return t[reason];
    default:
      return t.purgedByPerson;
  }
}
