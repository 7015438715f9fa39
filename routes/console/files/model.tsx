import { FILE_STATUSES } from "../../../domain/files/file.ts";
import { PURGE_KINDS } from "../../../domain/files/purge_reasons.ts";
import { Notice } from "../components/notice.tsx";
import type { Visit } from "../shared/page.ts";
import type { Locale } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { fileStatusTexts } from "./texts.ts";
import { defineStates } from "../components/states.tsx";

export type File = Row<"listFiles">;

/** The shown status of a file: its status, and for a purged file the reason why it has no content. */
export type FileState = Exclude<File["status"], "Purged"> | NonNullable<File["purgeKind"]>;

export const FILE_STATES: readonly FileState[] = [
  ...FILE_STATUSES.filter((status) => status !== "Purged"),
  ...PURGE_KINDS,
];

const stateOf = ({ status, purgeKind }: Pick<File, "status" | "purgeKind">): FileState =>
  status === "Purged" ? purgeKind ?? "Purged" : status;

export const fileStates = defineStates<FileState>({
  Pending: ["idle", "Awaiting upload", "Aguardando o envio"],
  Scanning: ["info", "Scanning", "Em análise"],
  Available: ["ok", "Available", "Disponível"],
  Infected: ["bad", "Infected", "Infectado"],
  Failed: ["bad", "Scan failed", "Análise com falha"],
  Rejected: ["bad", "Rejected", "Rejeitado"],
  Expired: ["idle", "Expired", "Expirado"],
  Purged: ["idle", "Purged", "Conteúdo excluído"],
});

/** A file's status as a coloured label. */
export const fileBadge = (v: Visit, file: Pick<File, "status" | "purgeKind">) =>
  fileStates.badge(v, stateOf(file));

/** True if the status may change soon without user action, so that a page should refresh. */
export const isMoving = ({ status }: File): boolean => status === "Pending" || status === "Scanning";

/** Explains the file's status and its reason. */
export function StatusNotice({ v, file }: { v: Visit; file: File }) {
  const t = fileStatusTexts[v.locale];
  const state = stateOf(file);
  const purged = purgeText(v.locale, file.purgeReason);
  const text = {
    Pending: t.PendingText,
    Scanning: t.ScanningText,
    Available: t.AvailableText,
    Failed: t.FailedText,
    Infected: (file.legalHold ? t.InfectedHeldText : t.InfectedText)(file.signatureName ?? "–"),
    Rejected: purged,
    Expired: purged,
    Purged: purged,
  }[state];
  return <Notice tone={fileStates.tone(state)} title={fileStates.labels[v.locale][state]}>{text}</Notice>;
}

/** Explains a purge reason. Reasons that start with "job:" come from the service; a user wrote any other. */
const purgeText = (locale: Locale, reason: string | null): string => {
  const t = fileStatusTexts[locale];
  return reason?.startsWith("job:") && Object.hasOwn(t, reason)
    ? t[reason as "job:upload-expired"]
    : t.purgedByPerson;
};
