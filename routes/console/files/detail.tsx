import { actionButton, buttonLink } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { LivePart } from "../components/table.tsx";
import { bytes, CopyValue, duration, factList, Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import { mayInFiles, type View, type Visit } from "../shared/page.ts";
import { Person, userNames } from "../components/user_names.tsx";
import { timelineFact } from "../components/timeline_fact.tsx";
import { holdTexts } from "./hold_texts.ts";
import {
  type FileForms,
  HoldNotice,
  isAdminOf,
  ownersOf,
  PurgeCard,
  PurgeTime,
  ReferencesCard,
  RetentionCard,
} from "./retention_cards.tsx";
import { type File, isMoving, StatusNotice } from "./model.tsx";
import { fileTexts } from "./texts.ts";
import type { Row } from "../shared/operations.ts";
import { defineStates } from "../components/states.tsx";

/** One file: details, scans, references, retention and purge. */
export async function filePage(v: Visit, sent: FileForms = {}): Promise<View> {
  const t = fileTexts[v.locale];
  const { params } = v;
  const path = `files/${params.id}`;
  const [{ value: file, etag }, attempts, references] = await Promise.all([
    v.api.versioned("readFile", { params }),
    v.api.call("listScanAttempts", { params }),
    v.api.call("listFileReferences", { params, query: { pageSize: 50 } }),
  ]);
  const isAdmin = await isAdminOf(v, file);
  const [names, owners] = await Promise.all([
    userNames(v, [file.createdBy, file.purgedBy, file.legalHoldBy]),
    ownersOf(v, references),
  ]);
  return {
    title: file.fileName,
    crumbs: [{ href: "files", label: t.files }],
    // The page refreshes while the status may change. The retention and purge forms appear only afterwards.
    body: (
      <LivePart v={v} id="file-state" {...isMoving(file) ? { everySeconds: 2 } : {}}>
        <StatusNotice v={v} file={file} />
        <HoldNotice v={v} file={file} names={names} isAdmin={isAdmin} />
        <div class="row">
          {file.status === "Available" &&
            buttonLink(`${path}/download`, t.download, { icon: "download", tone: "primary" })}
          {file.status === "Pending" && mayInFiles(v.viewer, "upload:files") &&
            actionButton(v, `${path}/confirm`, t.confirmUpload, { icon: "check" })}
        </div>
        <div class="grid-2">
          <FactsCard v={v} file={file} names={names} />
          <Scans v={v} attempts={attempts} />
        </div>
        <ReferencesCard v={v} file={file} references={references} owners={owners} />
        {(file.status === "Available" || file.status === "Failed") && (
          <div class="grid-2">
            {mayInFiles(v.viewer, "retain:files") && (
              <RetentionCard
                v={v}
                file={file}
                etag={etag}
                sent={sent.retention ?? null}
                isAdmin={isAdmin}
              />
            )}
            {mayInFiles(v.viewer, "purge:files") && file.status === "Available" && (
              <PurgeCard v={v} file={file} sent={sent.purge ?? null} isAdmin={isAdmin} />
            )}
          </div>
        )}
      </LivePart>
    ),
  };
}

function FactsCard({ v, file, names }: { v: Visit; file: File; names: Map<string, string> }) {
  const t = fileTexts[v.locale];
  const { signatureName, rejectionCode, purgedAt } = file;
  const person = (id: string | null) =>
    id ? <Person v={v} names={names} id={id} /> : <span class="muted">{t.service}</span>;
  return (
    <Card title={commonTexts[v.locale].details}>
      {factList([
        [t.id, <CopyValue v={v} value={file.id} />],
        timelineFact(v, { fileId: file.id }),
        [t.profile, file.tenantId === null ? `${file.profile} · ${t.productFile}` : file.profile],
        [t.size, bytes(v, file.sizeBytes)],
        [t.declaredType, <code>{file.declaredContentType}</code>],
        [t.detectedType, file.detectedContentType && <code>{file.detectedContentType}</code>],
        [t.sha256, <CopyValue v={v} value={file.sha256} />],
        [t.created, <Time v={v} at={file.createdAt} />],
        [t.createdBy, person(file.createdBy)],
        [t.confirmed, <Time v={v} at={file.completedAt} />],
        [t.available, <Time v={v} at={file.availableAt} />],
        (file.status === "Available" || file.status === "Failed") && [
          holdTexts[v.locale].purgesAt,
          <PurgeTime v={v} file={file} />,
        ],
        signatureName && [t.signature, <code>{signatureName}</code>],
        purgedAt && [t.purgedAt, <Time v={v} at={purgedAt} />],
        purgedAt && [t.purgedBy, person(file.purgedBy)],
        purgedAt && [t.reason, file.purgeReason],
        rejectionCode && [t.rejectionCode, <code>{rejectionCode}</code>],
      ])}
    </Card>
  );
}

type ScanAttempt = Row<"listScanAttempts">;

const verdicts = defineStates<ScanAttempt["verdict"]>({
  Clean: ["ok", "Clean", "Limpo"],
  Infected: ["bad", "Infected", "Infectado"],
  TypeRejected: ["bad", "Type rejected", "Tipo rejeitado"],
  Error: ["warn", "Error", "Erro"],
});

/** All scan attempts, newest first, as a timeline. */
function Scans({ v, attempts }: { v: Visit; attempts: ScanAttempt[] }) {
  const t = fileTexts[v.locale];
  return (
    <Card title={t.scans}>
      {attempts.length === 0 ? <Empty icon="search" title={t.noScans} /> : (
        <ol class="timeline">
          {attempts.map((attempt) => (
            <li class={`tone-${verdicts.tone(attempt.verdict)}`}>
              <Attempt v={v} attempt={attempt} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function Attempt({ v, attempt }: { v: Visit; attempt: ScanAttempt }) {
  const t = fileTexts[v.locale];
  const { attemptNumber, verdict, completedAt, durationMs, engine, databaseVersion } = attempt;
  const { detectedContentType, signatureName, errorMessage } = attempt;
  return (
    <>
      <div class="row">
        <strong>{t.scan(attemptNumber)}</strong>
        {verdicts.badge(v, verdict)}
        <span class="muted">
          <Time v={v} at={completedAt} /> · {duration(v, durationMs)}
        </span>
      </div>
      {signatureName && (
        <p>
          {t.signature}: <code>{signatureName}</code>
        </p>
      )}
      {errorMessage && <p class="break">{errorMessage}</p>}
      <p class="muted break">
        {[engine, databaseVersion && `${t.database} ${databaseVersion}`, detectedContentType].filter(Boolean)
          .join(" · ")}
      </p>
    </>
  );
}
