import { actionButton, buttonLink } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, dataTable, LivePart } from "../components/table.tsx";
import { bytes, CopyValue, duration, factList, number, Time, timelineFact } from "../components/values.tsx";
import { may, mayInFiles, type View, type Visit } from "../shared/page.ts";
import { Person, userNames } from "../components/user_names.tsx";
import { fileTexts, holdTexts, retentionTexts } from "./texts.ts";
import { type File, isMoving, StatusNotice } from "./model.tsx";
import type { Answer, Row } from "../shared/operations.ts";
import { defineStates } from "../components/states.tsx";
import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { isServiceOwner } from "../../../domain/files/service_scopes.ts";
import { localOf } from "../components/date_inputs.ts";
import { Fields, Form } from "../components/fields.tsx";
import { actionsColumn, labelled, timeColumn } from "../components/list.tsx";
import type { Sent } from "../shared/actions.ts";
import { placeOf, reachOf } from "../shared/scope.ts";
import { readViewer } from "../shared/viewer.ts";

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
  const names = await userNames(v, [file.createdBy, file.purgedBy, file.legalHoldBy]);
  return {
    title: file.fileName,
    actions: may(v.viewer, "read:users") &&
      buttonLink(`audit?targetType=file&targetId=${file.id}`, t.history, { icon: "audit" }),
    // The page refreshes while the status may change. The retention and purge forms do not appear then.
    body: (
      <LivePart v={v} id="file-state" {...isMoving(file) && !isRetained(file) ? { everySeconds: 2 } : {}}>
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
        <ReferencesCard v={v} file={file} references={references} />
        {isRetained(file) && (
          <div class="grid-2">
            {mayInFiles(v.viewer, "retain:files") && (
              <RetentionCard v={v} file={file} etag={etag} sent={sent.retention ?? null} isAdmin={isAdmin} />
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

/** True if retention decides how long the content is kept. */
const isKept = ({ status }: File): boolean => status === "Available" || status === "Failed";

/** True if the page has the form for retention. A legal hold keeps also an empty reservation and infected content. */
const isRetained = (file: File): boolean =>
  isKept(file) || file.legalHold && (file.status === "Pending" || file.status === "Infected");

function FactsCard({ v, file, names }: { v: Visit; file: File; names: Map<string, string> }) {
  const t = fileTexts[v.locale];
  const { signatureName, rejectionCode, purgedAt } = file;
  const person = (id: string | null) =>
    id ? <Person v={v} names={names} id={id} /> : <span class="muted">{t.service}</span>;
  return (
    <Card title={t.details}>
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
        isKept(file) && [
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

/** The form of the page that was sent and refused. */
interface FileForms {
  retention?: Sent | null;
  purge?: Sent | null;
}

/** The references to the file; those of callers have a release button. */
function ReferencesCard(
  { v, file, references }: { v: Visit; file: File; references: Answer<"listFileReferences"> },
) {
  const t = fileTexts[v.locale];
  const { items, totalCount } = references;
  const release: Column<Row<"listFileReferences">> = actionsColumn(
    v,
    ({ referenceId, scope, ownerId }) =>
      isServiceOwner({ scope, ownerId })
        ? <span class="muted">{t.releasedByService}</span>
        : actionButton(v, `files/${file.id}/references/${referenceId}/release`, t.release, {
          confirm: t.releaseConfirm(`${scope} ${ownerId}`, file.fileName),
        }),
  );
  return (
    <Card title={`${t.references} (${number(v, totalCount)})`} id="references">
      {dataTable(
        t.references,
        items,
        <Empty icon="link" title={t.noReferences}>{t.noReferencesText}</Empty>,
        [
          { head: t.scope, cell: ({ scope }) => scope },
          { head: t.owner, cell: ({ ownerId }) => <code class="break">{ownerId}</code> },
          timeColumn(v, t.since, "createdAt"),
          ...mayInFiles(v.viewer, "upload:files") ? [release] : [],
        ],
      )}
      {totalCount > items.length && <p class="muted">{t.moreReferences(totalCount - items.length)}</p>}
    </Card>
  );
}

interface CardProps {
  v: Visit;
  file: File;
  sent: Sent | null;
  /** True if the viewer may release a legal hold and purge a Permanent file. */
  isAdmin: boolean;
}

/** True if the viewer holds admin:system for this file. For a file of a tenant, the permission in the platform tenant counts too. */
async function isAdminOf(v: Visit, file: File): Promise<boolean> {
  if (may(v.viewer, "admin:system")) return true;
  const isAsked = mayInFiles(v.viewer, "retain:files") || mayInFiles(v.viewer, "purge:files");
  if (file.tenantId === null || !isAsked || v.boundTo !== null) return false;
  return may(await readViewer(await v.inScope(null), v.viewer.userId), "admin:system");
}

/** The form for retention and legal hold. After a change elsewhere it keeps what was typed, with the new ETag. */
function RetentionCard({ v, file, etag, sent, isAdmin }: CardProps & { etag: string }) {
  const t = fileTexts[v.locale];
  const r = retentionTexts[v.locale];
  const h = holdTexts[v.locale];
  const keptUntil = file.retainUntil ? localOf(v, file.retainUntil) : "";
  const f = new Fields(v, sent, "changeRetention", { ...file, retainUntil: keptUntil });
  return (
    <Card title={t.retention} id="retention">
      {file.tenantId === null && !isAdmin
        ? <Notice tone="info">{h.retainProduct}</Notice>
        : (
          <Form fields={f} action={`files/${file.id}/retention`}>
            <input type="hidden" name="version" value={etag} />
            <input type="hidden" name="keptUntil" value={keptUntil} />
            <div class="pair">
              {f.select("retentionClass", t.retentionClass, labelled(RETENTION_CLASSES, r), {
                hint: RETENTION_CLASSES.map((value) => `${r[value]}: ${r[`${value}Text`]}.`).join(" "),
              })}
              {f.text("retainUntil", t.retainUntil, { type: "datetime-local", hint: t.retainHint })}
            </div>
            {file.legalHold && !isAdmin
              ? <input type="hidden" name="legalHold" value="true" />
              : f.check("legalHold", t.legalHold, isAdmin ? h.setHint : `${h.setHint} ${h.setWarning}`)}
            {f.text("reason", t.reason, { hint: t.reasonHint })}
          </Form>
        )}
    </Card>
  );
}

/** A card about the legal hold of a file: who set it, when and why, its effect, and who can release it. */
function HoldNotice(
  { v, file, names, isAdmin }: Omit<CardProps, "sent"> & { names: Map<string, string> },
) {
  const t = holdTexts[v.locale];
  if (!file.legalHold || file.status === "Purged") return null;
  const { legalHoldBy: by, legalHoldSince: since, legalHoldReason: reason } = file;
  return (
    <Notice tone="warn" title={t.title}>
      {by === null ? <p>{t.unknown}</p> : (
        <p>
          {t.setBy} <Person v={v} names={names} id={by} />, {t.setAt} <Time v={v} at={since} />
          {reason && `: ${reason}`}
        </p>
      )}
      <p>{t.prevents}</p>
      {mayInFiles(v.viewer, "retain:files") && <p>{isAdmin ? t.releaseHere : t.releaseAdmin}</p>}
    </Notice>
  );
}

/** The reason why the viewer may not purge a file; null if the viewer may. */
function purgePrevented(v: Visit, file: File, isAdmin: boolean): string | null {
  const t = fileTexts[v.locale];
  const h = holdTexts[v.locale];
  if (file.legalHold) return t.purgeOnHold;
  if (file.referenceCount > 0) return t.purgeReferenced(file.referenceCount);
  if (isAdmin) return null;
  if (file.tenantId === null) return h.purgeProduct;
  return file.retentionClass === "Permanent" ? h.purgePermanent : null;
}

/** The time at which retention deletes the content, in words. */
function PurgeTime({ v, file }: { v: Visit; file: File }) {
  const t = holdTexts[v.locale];
  if (file.legalHold) return <>{t.notHeld}</>;
  if (file.retentionClass === "Permanent") return <>{t.neverPermanent}</>;
  if (file.referenceCount > 0) return <>{t.notReferenced}</>;
  return <Time v={v} at={file.purgesAt} />;
}

/** The form that purges the content, or what prevents it: a legal hold, references, or a missing right. */
function PurgeCard({ v, file, sent, isAdmin }: CardProps) {
  const t = fileTexts[v.locale];
  const f = new Fields(v, sent, "purgeFile");
  const prevented = sent === null && purgePrevented(v, file, isAdmin);
  const place = file.tenantId ? placeOf(v, v.viewer.tenant?.name) : reachOf({ ...v, scope: null });
  return (
    <Card title={t.purge} id="purge">
      {prevented ? <Notice tone="info">{prevented}</Notice> : (
        <Form
          fields={f}
          action={`files/${file.id}/purge`}
          intro={t.purgeText}
          confirm={t.purgeConfirm(file.fileName, place)}
          buttons={<button type="submit" class="button danger">{t.purge}</button>}
        >
          {/* its id must differ from the retention form's reason */}
          {f.text("purgeReason", t.reason, {
            maxlength: 1000,
            required: true,
            hint: t.purgeReasonHint,
            errors: f.errorsOf("reason"),
          })}
        </Form>
      )}
    </Card>
  );
}
