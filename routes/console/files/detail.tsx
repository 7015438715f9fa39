import type { Child } from "hono/jsx";
import { ActionButton, ButtonLink } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { LivePart } from "../components/table.tsx";
import { bytes, CopyValue, Facts, Time } from "../components/values.tsx";
import type { Sent } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { mayInFiles, type View, type Visit } from "../shared/page.ts";
import { Scans } from "./scans.tsx";
import { PurgeCard, ReferencesCard, RetentionCard } from "./retention_cards.tsx";
import { type File, isMoving, StatusNotice } from "./model.tsx";
import { fileTexts } from "./texts.ts";

/**
 * One file: details, scans, references, retention and purge.
 * @param forms the forms of the page that were sent and are shown again
 */
export async function filePage(
  v: Visit,
  forms: { retention?: Sent | null; purge?: Sent | null } = {},
): Promise<View> {
  const t = fileTexts[v.locale];
  const { params } = v;
  const path = `files/${params.id}`;
  const [{ value: file, etag }, attempts, references] = await Promise.all([
    v.api.versioned("readFile", { params }),
    v.api.call("listScanAttempts", { params }),
    v.api.call("listFileReferences", { params, query: { pageSize: 50 } }),
  ]);
  return {
    title: file.fileName,
    crumbs: [{ href: "files", label: t.files }],
    // The page refreshes while the status may change. The retention and purge forms appear only afterwards.
    body: (
      <LivePart v={v} id="file-state" {...isMoving(file) ? { everySeconds: 2 } : {}}>
        <StatusNotice v={v} file={file} />
        <div class="row">
          {file.status === "Available" && (
            <ButtonLink href={`${path}/download`} label={t.download} icon="download" tone="primary" />
          )}
          {file.status === "Pending" && mayInFiles(v.viewer, "upload:files") && (
            <ActionButton v={v} action={`${path}/confirm`} label={t.confirmUpload} icon="check" />
          )}
        </div>
        <div class="grid-2">
          <FactsCard v={v} file={file} />
          <Scans v={v} attempts={attempts} />
        </div>
        <ReferencesCard v={v} file={file} references={references} />
        {(file.status === "Available" || file.status === "Failed") && (
          <div class="grid-2">
            {mayInFiles(v.viewer, "retain:files") && (
              <RetentionCard v={v} file={file} etag={etag} sent={forms.retention ?? null} />
            )}
            {mayInFiles(v.viewer, "purge:files") && file.status === "Available" && (
              <PurgeCard v={v} file={file} sent={forms.purge ?? null} />
            )}
          </div>
        )}
      </LivePart>
    ),
  };
}

function FactsCard({ v, file }: { v: Visit; file: File }) {
  const t = fileTexts[v.locale];
  const person = (id: string | null) =>
    id ? <CopyValue v={v} value={id} /> : <span class="muted">{t.service}</span>;
  const facts: [string, Child][] = [
    [t.id, <CopyValue v={v} value={file.id} />],
    [t.profile, file.tenantId === null ? `${file.profile} · ${t.productFile}` : file.profile],
    [t.size, bytes(v, file.sizeBytes)],
    [t.declaredType, <code>{file.declaredContentType}</code>],
    [t.detectedType, file.detectedContentType && <code>{file.detectedContentType}</code>],
    [t.sha256, <CopyValue v={v} value={file.sha256} />],
    [t.created, <Time v={v} at={file.createdAt} />],
    [t.createdBy, person(file.createdBy)],
    [t.confirmed, <Time v={v} at={file.completedAt} />],
    [t.available, <Time v={v} at={file.availableAt} />],
  ];
  if (file.signatureName) facts.push([t.signature, <code>{file.signatureName}</code>]);
  if (file.purgedAt) {
    facts.push(
      [t.purgedAt, <Time v={v} at={file.purgedAt} />],
      [t.purgedBy, person(file.purgedBy)],
      [t.reason, file.purgeReason],
    );
  }
  if (file.rejectionCode) facts.push([t.rejectionCode, <code>{file.rejectionCode}</code>]);
  return (
    <Card title={commonTexts[v.locale].details}>
      <Facts facts={facts} />
    </Card>
  );
}
