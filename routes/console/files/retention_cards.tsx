import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { isServiceOwner, SERVICE_SCOPES } from "../../../domain/files/service_scopes.ts";
import { localOf } from "../components/date_inputs.ts";
import { Fields, Form } from "../components/fields.tsx";
import { actionButton } from "../components/forms.tsx";
import { actionsColumn, labelled, timeColumn } from "../components/list.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, dataTable } from "../components/table.tsx";
import { number, Time } from "../components/values.tsx";
import type { Sent } from "../shared/actions.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { may, mayInFiles, type Visit } from "../shared/page.ts";
import { Person } from "../components/user_names.tsx";
import { findById, type Found, kindOf } from "../search/kinds.ts";
import { placeOf, reachOf } from "../shared/scope.ts";
import { readViewer } from "../shared/viewer.ts";
import { holdTexts } from "./hold_texts.ts";
import type { File } from "./model.tsx";
import { retentionTexts } from "./status_texts.ts";
import { fileTexts } from "./texts.ts";

/** The form of the page that was sent and refused. */
export interface FileForms {
  retention?: Sent | null;
  purge?: Sent | null;
}

/** What the service holds files for, by the path of its pages. */
const OWNERS: Record<string, string> = {
  [SERVICE_SCOPES.reportRun]: "report-runs",
  [SERVICE_SCOPES.message]: "notifications",
};

/** The report runs and messages that hold the file, by id, as far as the viewer may see them. */
export async function ownersOf(
  v: Visit,
  { items }: Answer<"listFileReferences">,
): Promise<Map<string, Found>> {
  const found = items.filter(isServiceOwner).map(async ({ scope, ownerId }) => {
    const kind = kindOf(OWNERS[scope] ?? "");
    const owner = kind && await findById(v, kind, ownerId);
    return owner ? [[ownerId, owner] as const] : [];
  });
  return new Map((await Promise.all(found)).flat());
}

/** The references to the file; those of callers have a release button. */
export function ReferencesCard(
  { v, file, references, owners }: {
    v: Visit;
    file: File;
    references: Answer<"listFileReferences">;
    owners: Map<string, Found>;
  },
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
          {
            head: t.owner,
            cell: ({ ownerId }) => {
              const owner = owners.get(ownerId);
              return owner ? <a href={owner.href}>{owner.title}</a> : <code class="break">{ownerId}</code>;
            },
          },
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
export async function isAdminOf(v: Visit, file: File): Promise<boolean> {
  if (may(v.viewer, "admin:system")) return true;
  const isAsked = mayInFiles(v.viewer, "retain:files") || mayInFiles(v.viewer, "purge:files");
  if (file.tenantId === null || !isAsked || v.boundTo !== null) return false;
  return may(await readViewer(await v.inScope(null), v.viewer.userId), "admin:system");
}

/** The form for retention and legal hold. After a change elsewhere it keeps what was typed, with the new ETag. */
export function RetentionCard({ v, file, etag, sent, isAdmin }: CardProps & { etag: string }) {
  const t = fileTexts[v.locale];
  const r = retentionTexts[v.locale];
  const h = holdTexts[v.locale];
  const keptUntil = file.retainUntil ? localOf(v, file.retainUntil) : "";
  const f = new Fields(v, sent, "changeRetention", { ...file, retainUntil: keptUntil });
  if (file.tenantId === null && !isAdmin) {
    return (
      <Card title={t.retention} id="retention">
        <Notice tone="info">{h.retainProduct}</Notice>
      </Card>
    );
  }
  return (
    <Card title={t.retention} id="retention">
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
    </Card>
  );
}

/** A card about the legal hold of a file: who set it, when and why, its effect, and who can release it. */
export function HoldNotice(
  { v, file, names, isAdmin }: Omit<CardProps, "sent"> & { names: Map<string, string> },
) {
  const t = holdTexts[v.locale];
  if (!file.legalHold) return null;
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
export function PurgeTime({ v, file }: { v: Visit; file: File }) {
  const t = holdTexts[v.locale];
  if (file.legalHold) return <>{t.notHeld}</>;
  if (file.retentionClass === "Permanent") return <>{t.neverPermanent}</>;
  if (file.referenceCount > 0) return <>{t.notReferenced}</>;
  return <Time v={v} at={file.purgesAt} />;
}

/** The form that purges the content, or what prevents it: a legal hold, references, or a missing right. */
export function PurgeCard({ v, file, sent, isAdmin }: CardProps) {
  const t = fileTexts[v.locale];
  const f = new Fields(v, sent, "purgeFile");
  const prevented = sent === null && purgePrevented(v, file, isAdmin);
  if (prevented) {
    return (
      <Card title={t.purge} id="purge">
        <Notice tone="info">{prevented}</Notice>
      </Card>
    );
  }
  return (
    <Card title={t.purge} id="purge">
      <Form
        fields={f}
        action={`files/${file.id}/purge`}
        intro={t.purgeText}
        confirm={t.purgeConfirm(
          file.fileName,
          file.tenantId ? placeOf(v, v.viewer.tenant?.name) : reachOf({ ...v, scope: null }),
        )}
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
    </Card>
  );
}
