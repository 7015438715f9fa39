import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import {
  ActionButton,
  CheckField,
  CsrfField,
  FormRefusal,
  SelectField,
  TextField,
} from "../components/forms.tsx";
import { localOf } from "../components/date_inputs.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { number, Time } from "../components/values.tsx";
import type { Page, Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, may, mayInFiles, type Visit } from "../shared/page.ts";
import type { File, FileReference } from "./model.tsx";
import { retentionTexts } from "./status_texts.ts";
import { fileTexts } from "./texts.ts";

/** The error of the page's last submitted form, and its values. */
export interface FileForms {
  retention?: Refusal;
  purge?: Refusal;
  values?: FormData;
}

/** The references to the file, each with a release button. */
export function ReferencesCard(
  { v, file, references }: { v: Visit; file: File; references: Page<FileReference> },
) {
  const t = fileTexts[v.locale];
  const { items, totalCount } = references;
  const columns: Column<FileReference>[] = [
    { head: t.scope, cell: ({ scope }) => scope },
    { head: t.owner, cell: ({ ownerId }) => <code class="break">{ownerId}</code> },
    { head: t.since, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    ...mayInFiles(v.viewer, "upload:files")
      ? [{
        head: commonTexts[v.locale].actions,
        align: "end" as const,
        cell: ({ referenceId, scope, ownerId }: FileReference) => (
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
  forms: FileForms;
}

/** The form for retention and legal hold. */
export function RetentionCard({ v, file, version, forms }: CardProps & { version: string }) {
  const t = fileTexts[v.locale];
  const r = retentionTexts[v.locale];
  const { retention: refusal, values } = forms;
  const keptUntil = file.retainUntil ? localOf(v, file.retainUntil) : "";
  const given = (name: string, now: string) => refusal && values ? field(values, name) : now;
  return (
    <Card title={t.retention} id="retention">
      <FormRefusal refusal={refusal ?? null} known={[]} />
      <form method="post" action={`files/${file.id}/retention`} class="form">
        <CsrfField v={v} />
        <input type="hidden" name="version" value={version} />
        <input type="hidden" name="keptUntil" value={keptUntil} />
        <div class="pair">
          <SelectField
            label={t.retentionClass}
            name="retentionClass"
            value={given("retentionClass", file.retentionClass)}
            choices={RETENTION_CLASSES.map((value) => ({ value, label: r[value] }))}
            hint={RETENTION_CLASSES.map((value) => `${r[value]}: ${r[`${value}Text`]}.`).join(" ")}
          />
          <TextField
            label={t.retainUntil}
            name="retainUntil"
            type="datetime-local"
            value={given("retainUntil", keptUntil)}
            hint={t.retainHint}
            errors={refusal?.fields.retainUntil}
          />
        </div>
        <CheckField
          label={t.legalHold}
          name="legalHold"
          checked={given("legalHold", String(file.legalHold)) === "true"}
          hint={file.legalHold && !may(v.viewer, "admin:system")
            ? `${t.legalHoldHint} ${t.legalHoldAdmin}`
            : t.legalHoldHint}
        />
        <TextField
          label={t.reason}
          name="reason"
          maxlength={1000}
          value={given("reason", "")}
          hint={t.reasonHint}
        />
        <div class="row">
          <button type="submit" class="button primary">{commonTexts[v.locale].save}</button>
        </div>
      </form>
    </Card>
  );
}

/** The form that purges the content. A notice names what prevents it: a legal hold or references. */
export function PurgeCard({ v, file, forms }: CardProps) {
  const t = fileTexts[v.locale];
  const { purge: refusal, values } = forms;
  return (
    <Card title={t.purge} id="purge">
      <FormRefusal refusal={refusal ?? null} known={[]} />
      {!refusal && file.legalHold && <Notice tone="warn">{t.purgeOnHold}</Notice>}
      {!refusal && !file.legalHold && file.referenceCount > 0 && (
        <Notice tone="info">{t.purgeReferenced(file.referenceCount)}</Notice>
      )}
      <p class="muted">{t.purgeText}</p>
      <form method="post" action={`files/${file.id}/purge`} class="form" data-confirm={t.purgeConfirm}>
        <CsrfField v={v} />
        {/* its id must differ from the retention form's reason */}
        <TextField
          label={t.reason}
          name="purgeReason"
          maxlength={1000}
          required
          value={refusal && values ? field(values, "purgeReason") : ""}
          hint={t.purgeReasonHint}
          errors={refusal?.fields.reason}
        />
        <div class="row">
          <button type="submit" class="button danger">{t.purge}</button>
        </div>
      </form>
    </Card>
  );
}
