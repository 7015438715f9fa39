import type { z } from "zod";
import type {
  FileProfileDto,
  FileRecordDto,
  FileReferenceDto,
  ScanAttemptDto,
  ScannerStatusDto,
} from "../../files/shapes.ts";
import { Notice, type Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { Refusal } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";
import type { Locale } from "../shared/languages.ts";
import { fileErrorTexts, fileStatusTexts } from "./status_texts.ts";

export type File = z.output<typeof FileRecordDto>;
export type FileReference = z.output<typeof FileReferenceDto>;
export type FileProfile = z.output<typeof FileProfileDto>;
export type ScanAttempt = z.output<typeof ScanAttemptDto>;
export type ScannerStatus = z.output<typeof ScannerStatusDto>;

const TONES: Record<File["status"], Tone> = {
  Pending: "idle",
  Scanning: "info",
  Available: "ok",
  Infected: "bad",
  Failed: "bad",
  Purged: "idle",
};

/** A file's state in colour and words. */
export const FileStateBadge = ({ locale, status }: { locale: Locale; status: File["status"] }) => (
  <Badge tone={TONES[status]}>{fileStatusTexts[locale][status]}</Badge>
);

/** Will the state change by itself soon, so that a page should look again? */
export const isMoving = ({ status }: File): boolean => status === "Pending" || status === "Scanning";

/** What the file's state means, and why it came to it. */
export function StateNotice({ v, file }: { v: Visit; file: File }) {
  const { title, text } = explainState(v.locale, file);
  return <Notice tone={TONES[file.status]} title={title}>{text}</Notice>;
}

function explainState(locale: Locale, file: File): { title: string; text: string } {
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

/** What the service's own reasons mean; anything else was given by a person. */
function purgeText(locale: Locale, reason: string | null): string {
  const words = fileStatusTexts[locale];
  switch (reason) {
    case "job:tipo-reprovado":
    case "job:archive-limits":
    case "job:upload-expired":
    case "job:size-mismatch":
    case "job:retention-expired":
      return words[reason];
    default:
      return words.purgedByPerson;
  }
}

/** A refusal in words for people, undefined for one that has none here. */
export function refusalText(locale: Locale, code: string | null): string | undefined {
  const known = Object.entries(fileErrorTexts[locale]).find(([name]) => name === code);
  return known?.[1];
}

/** Why the registry refused, above the form that asked. `scopes` names what the refusal lists. */
export function FileRefusal({ v, refusal, listed }: { v: Visit; refusal: Refusal | null; listed?: string }) {
  if (!refusal) return null;
  const text = refusalText(v.locale, refusal.code);
  const rest = refusal.fields[""] ?? [];
  return (
    <Notice tone="bad" title={text ?? refusal.detail}>
      {rest.length > 0 && (
        <p>
          {listed && `${listed}: `}
          {rest.map((item, index) => (
            <>
              {index > 0 && ", "}
              <code>{item}</code>
            </>
          ))}
        </p>
      )}
      {text && <p class="muted">{refusal.detail}</p>}
      {refusal.code && <code>{refusal.code}</code>}
    </Notice>
  );
}
