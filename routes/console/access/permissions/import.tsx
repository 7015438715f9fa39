import type { z } from "zod";
import type { PermissionImportResultDto } from "../../../access/permission_shapes.ts";
import { ButtonLink, CheckField, CsrfField, FormRefusal } from "../../components/forms.tsx";
import { Card, Notice, type Tone } from "../../components/notice.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Badge, Figure, number } from "../../components/values.tsx";
import { Refusal, searchOf } from "../../shared/api.ts";
import { field, type Outcome, type View, type Visit } from "../../shared/page.ts";
import { permissionTexts } from "./texts.ts";

type Result = z.output<typeof PermissionImportResultDto>;
type ImportedRow = Result["rows"][number];

/** Size limit: the preview page carries the file's content in its form, so that exactly the previewed file is imported. */
const MAX_PREVIEW_BYTES = 2 * 1024 * 1024;
const ROWS_SHOWN = 200;
const TONES: Record<ImportedRow["outcome"], Tone> = {
  Created: "ok",
  Updated: "info",
  Unchanged: "idle",
  Failed: "bad",
};

const crumbs = (v: Visit) => [{ href: "permissions", label: permissionTexts[v.locale].permissions }];

/** The form to choose a file. */
export function importPage(v: Visit, refusal: Refusal | null = null): View {
  const t = permissionTexts[v.locale];
  return {
    title: t.importTitle,
    crumbs: crumbs(v),
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={[]} />
        <form class="form" method="post" action="permissions/import" enctype="multipart/form-data">
          <CsrfField v={v} />
          <div class="field">
            <label for="f-file">
              {t.file}
              <span class="required" aria-hidden="true">*</span>
            </label>
            <input
              id="f-file"
              type="file"
              name="file"
              accept=".csv,.json,text/csv,application/json"
              required
              aria-describedby="f-file-hint"
            />
            <div class="hint" id="f-file-hint">{t.fileHint}</div>
          </div>
          <CheckField label={t.upsert} name="upsert" hint={t.upsertHint} />
          <p class="hint">{t.previewHint}</p>
          <div class="row">
            <button type="submit" class="button primary" name="do" value="preview">{t.preview}</button>
          </div>
        </form>
        <p class="row">
          <span class="muted">{t.templates}</span>
          <a href="permissions/import/template?format=Csv" download>CSV</a>
          <a href="permissions/import/template?format=Json" download>JSON</a>
        </p>
      </Card>
    ),
  };
}

/** Downloads the import template from the API. */
export const importTemplate = async (v: Visit): Promise<Response> =>
  await v.api.request(
    "GET",
    `/api/v1/permissions/import/template${searchOf({ format: v.query.get("format") })}`,
  );

/** With `do=preview`, shows the result of a dry run. Otherwise imports the previewed file. */
export async function importFile(v: Visit, form: FormData): Promise<Outcome> {
  const t = permissionTexts[v.locale];
  const isPreview = field(form, "do") === "preview";
  const upsert = form.get("upsert") === "true";
  const file = isPreview ? form.get("file") : previewedFile(form);
  if (!(file instanceof File)) return importPage(v);
  if (file.size > MAX_PREVIEW_BYTES) {
    return { ...importPage(v, new Refusal({ status: 413, detail: t.tooLarge })), status: 413 };
  }
  const sent = new FormData();
  sent.set("file", file);
  try {
    const query = { upsert, dryRun: isPreview };
    const result = await v.api.call("importPermissionFile", { query, body: sent });
    if (isPreview) return previewView(v, result, file, await file.text());
    const { created, updated, failed } = result;
    return {
      goTo: "permissions",
      flash: { tone: failed > 0 ? "bad" : "ok", text: t.imported(created, updated, failed) },
    };
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.status < 500 && refusal.status !== 401) {
      return { ...importPage(v, refusal), status: refusal.status };
    }
    throw refusal;
  }
}

function previewedFile(form: FormData): File {
  const name = field(form, "fileName");
  const type = name.toLowerCase().endsWith(".json") ? "application/json" : "text/csv";
  return new File([String(form.get("content") ?? "")], name, { type });
}

function previewView(v: Visit, result: Result, file: File, content: string): View {
  const t = permissionTexts[v.locale];
  const { created, updated, unchanged, failed, total, upsert } = result;
  const rows = [...result.rows].sort((a, b) =>
    Number(b.outcome === "Failed") - Number(a.outcome === "Failed")
  );
  return {
    title: t.importTitle,
    crumbs: crumbs(v),
    body: (
      <>
        <Notice tone="info" title={t.previewTitle}>
          <code>{file.name}</code> {failed > 0 && t.failing(failed)}
        </Notice>
        <div class="figures">
          <Figure label={t.total} value={number(v, total)} />
          <Figure label={t.Created} value={number(v, created)} tone="ok" />
          <Figure label={t.Updated} value={number(v, updated)} tone="info" />
          <Figure label={t.Unchanged} value={number(v, unchanged)} />
          <Figure
            label={t.Failed}
            value={number(v, failed)}
            {...failed > 0 ? { tone: "bad" as const } : {}}
          />
        </div>
        <form method="post" action="permissions/import" enctype="multipart/form-data" class="row">
          <CsrfField v={v} />
          <input type="hidden" name="fileName" value={file.name} />
          <input type="hidden" name="content" value={content} />
          <input type="hidden" name="upsert" value={String(upsert)} />
          {created + updated > 0
            ? (
              <button type="submit" class="button primary" name="do" value="import">
                {t.importNow(created + updated)}
              </button>
            )
            : <span class="muted">{t.nothingToImport}</span>}
          <ButtonLink href="permissions/import" label={t.another} />
        </form>
        {rows.length > ROWS_SHOWN && <p class="muted">{t.firstRows(ROWS_SHOWN, rows.length)}</p>}
        <DataTable
          caption={t.rowsCaption}
          columns={columns(v)}
          rows={rows.slice(0, ROWS_SHOWN)}
          empty={null}
        />
      </>
    ),
  };
}

function columns(v: Visit): Column<ImportedRow>[] {
  const t = permissionTexts[v.locale];
  return [
    { head: t.row, align: "end", cell: ({ row }) => number(v, row) },
    { head: t.code, cell: ({ code }) => code === null ? "–" : <code>{code}</code> },
    { head: t.result, cell: ({ outcome }) => <Badge tone={TONES[outcome]}>{t[outcome]}</Badge> },
    { head: t.problems, cell: ({ errors }) => errors.join("; ") },
  ];
}
