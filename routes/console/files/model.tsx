import { Notice, type Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { Visit } from "../shared/page.ts";
import type { Locale } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { fileStatusTexts } from "./status_texts.ts";

export type File = Row<"listFiles">;

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
  const t = fileStatusTexts[v.locale];
  const { status } = file;
  const text = {
    Pending: t.PendingText,
    Scanning: t.ScanningText,
    Available: t.AvailableText,
    Failed: t.FailedText,
    Infected: t.InfectedText(file.signatureName ?? "–"),
    Purged: purgeText(v.locale, file.purgeReason),
  }[status];
  return <Notice tone={TONES[status]} title={t[status]}>{text}</Notice>;
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
