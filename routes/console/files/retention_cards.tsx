import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { Fields, Form } from "../components/fields.tsx";
import { ActionButton } from "../components/forms.tsx";
import { labelled, timeColumn } from "../components/list.tsx";
import { localOf } from "../components/date_inputs.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { number } from "../components/values.tsx";
import type { Sent } from "../shared/actions.ts";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import { may, mayInFiles, type Visit } from "../shared/page.ts";
import type { File } from "./model.tsx";
import { retentionTexts } from "./status_texts.ts";
import { fileTexts } from "./texts.ts";

type Reference = Row<"listFileReferences">;

/** The references to the file, each with a release button. */
export function ReferencesCard(
  { v, file, references }: { v: Visit; file: File; references: Page<Reference> },
) {
  const t = fileTexts[v.locale];
  const { items, totalCount } = references;
  const columns: Column<Reference>[] = [
    { head: t.scope, cell: ({ scope }) => scope },
    { head: t.owner, cell: ({ ownerId }) => <code class="break">{ownerId}</code> },
    timeColumn(v, t.since, "createdAt"),
    ...mayInFiles(v.viewer, "upload:files")
      ? [{
        head: commonTexts[v.locale].actions,
        align: "end" as const,
        cell: ({ referenceId, scope, ownerId }: Reference) => (
          <ActionButton
            v={v}
            action={`files/${file.id}/references/${referenceId}/release`}
            label={t.release}
            confirm={t.releaseConfirm(`${scope} ${ownerId}`)}
          />
        ),
      }]
      : [],
  ];
  return (
    <Card title={`${t.references} (${number(v, totalCount)})`} id="references">
      <DataTable
        caption={t.references}
        columns={columns}
        rows={items}
        empty={<Empty icon="link" title={t.noReferences}>{t.noReferencesText}</Empty>}
      />
      {totalCount > items.length && <p class="muted">{t.moreReferences(totalCount - items.length)}</p>}
    </Card>
  );
}

interface CardProps {
  v: Visit;
  file: File;
  sent: Sent | null;
}

/** The form for retention and legal hold. */
export function RetentionCard({ v, file, etag, sent }: CardProps & { etag: string }) {
  const t = fileTexts[v.locale];
  const r = retentionTexts[v.locale];
  const { retentionClass, legalHold } = file;
  const keptUntil = file.retainUntil ? localOf(v, file.retainUntil) : "";
  const f = new Fields(v, sent, "changeRetention", {
    retentionClass,
    legalHold,
    retainUntil: keptUntil,
    etag,
  });
  const needsAdmin = legalHold && !may(v.viewer, "admin:system");
  return (
    <Card title={t.retention} id="retention">
      <Form fields={f} action={`files/${file.id}/retention`}>
        <input type="hidden" name="keptUntil" value={keptUntil} />
        <div class="pair">
          {f.select("retentionClass", t.retentionClass, labelled(RETENTION_CLASSES, r), {
            hint: RETENTION_CLASSES.map((value) => `${r[value]}: ${r[`${value}Text`]}.`).join(" "),
          })}
          {f.text("retainUntil", t.retainUntil, { type: "datetime-local", hint: t.retainHint })}
        </div>
        {f.check(
          "legalHold",
          t.legalHold,
          needsAdmin ? `${t.legalHoldHint} ${t.legalHoldAdmin}` : t.legalHoldHint,
        )}
        {f.text("reason", t.reason, { hint: t.reasonHint })}
      </Form>
    </Card>
  );
}

/** The form that purges the content. A notice names what prevents it: a legal hold or references. */
export function PurgeCard({ v, file, sent }: CardProps) {
  const t = fileTexts[v.locale];
  const f = new Fields(v, sent, null);
  const buttons = <button type="submit" class="button danger">{t.purge}</button>;
  return (
    <Card title={t.purge} id="purge">
      {!sent && file.legalHold && <Notice tone="warn">{t.purgeOnHold}</Notice>}
      {!sent && !file.legalHold && file.referenceCount > 0 && (
        <Notice tone="info">{t.purgeReferenced(file.referenceCount)}</Notice>
      )}
      <Form
        fields={f}
        action={`files/${file.id}/purge`}
        confirm={t.purgeConfirm}
        intro={t.purgeText}
        buttons={buttons}
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
