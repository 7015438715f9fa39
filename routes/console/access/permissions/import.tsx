import { buttonLink, CheckField, CsrfField, FileField, FormRefusal } from "../../components/forms.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { dataTable } from "../../components/table.tsx";
import { defineStates } from "../../components/states.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { number } from "../../components/values.tsx";
import { formPage, type Sent } from "../../shared/actions.ts";
import { Refusal } from "../../shared/api.ts";
import type { Answer } from "../../shared/operations.ts";
import { type ConsolePage, field, type View, type Visit } from "../../shared/page.ts";
import { permissionTexts } from "./texts.ts";

type Result = Answer<"importPermissionFile">;

/** Size limit: the preview page carries the file's content in its form, so that exactly the previewed file is imported. */
const MAX_PREVIEW_BYTES = 2 * 1024 * 1024;
const ROWS_SHOWN = 200;
const outcomes = defineStates<Result["rows"][number]["outcome"]>({
  Created: ["ok", "New", "Nova"],
  Updated: ["info", "Updated", "Atualizada"],
  Unchanged: ["idle", "Unchanged", "Sem alteração"],
  Failed: ["bad", "Failed", "Com falha"],
});

function chooseFile(v: Visit, sent: Sent | null): View {
  const t = permissionTexts[v.locale];
  return {
    title: t.importTitle,
    body: (
      <Card>
        <FormRefusal v={v} refusal={sent?.refusal ?? null} known={[]} />
        <form class="form" method="post" action="permissions/import" enctype="multipart/form-data">
          <CsrfField v={v} />
          <FileField
            label={t.file}
            name="file"
            accept=".csv,.json,text/csv,application/json"
            hint={t.fileHint}
          />
          <CheckField label={t.upsert} name="upsert" hint={t.upsertHint} />
          <p class="hint">{t.previewHint}</p>
          <div class="row">
            <button type="submit" class="button primary" name="do" value="preview">{t.checkFile}</button>
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

/** With `do=preview`, shows the result of a dry run. Otherwise imports the previewed file. */
const importPage = formPage({
  path: "permissions/import",
  permissions: ["create:permissions"],
  show: chooseFile,
  async send(v, form) {
    const t = permissionTexts[v.locale];
    const dryRun = field(form, "do") === "preview";
    const file = dryRun ? form.get("file") : previewedFile(form);
    if (!(file instanceof File)) return chooseFile(v, null);
    if (file.size > MAX_PREVIEW_BYTES) throw new Refusal({ status: 413, detail: t.tooLarge });
    const body = new FormData();
    body.set("file", file);
    const query = { upsert: form.get("upsert") === "true", dryRun };
    const result = await v.api.call("importPermissionFile", { query, body });
    if (dryRun) return previewView(v, result, file, await file.text());
    const { created, updated, failed } = result;
    const text = t.imported(created, updated, failed);
    return { goTo: "permissions", flash: { tone: failed > 0 ? "bad" : "ok", text } };
  },
});

function previewedFile(form: FormData): File {
  const name = field(form, "fileName");
  const type = name.toLowerCase().endsWith(".json") ? "application/json" : "text/csv";
  return new File([String(form.get("content") ?? "")], name, { type });
}

function previewView(v: Visit, result: Result, file: File, content: string): View {
  const t = permissionTexts[v.locale];
  const { Created, Updated, Unchanged, Failed } = outcomes.labels[v.locale];
  const { created, updated, unchanged, failed, total, upsert } = result;
  const rows = [...result.rows].sort((a, b) =>
    Number(b.outcome === "Failed") - Number(a.outcome === "Failed")
  );
  return {
    title: t.importTitle,
    body: [
      <Notice tone="info" title={t.previewTitle}>
        <code>{file.name}</code> {failed > 0 && t.failing(failed)}
      </Notice>,
      statisticList(v, [
        [t.rows, total],
        [Created, created, { tone: "ok" }],
        [Updated, updated, { tone: "info" }],
        [Unchanged, unchanged],
        [Failed, failed, failed > 0 ? { tone: "bad" } : {}],
      ]),
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
        {buttonLink("permissions/import", t.another)}
      </form>,
      rows.length > ROWS_SHOWN && <p class="muted">{t.firstRows(ROWS_SHOWN, rows.length)}</p>,
      dataTable(t.rowsCaption, rows.slice(0, ROWS_SHOWN), null, [
        { head: t.row, align: "end", cell: ({ row }) => number(v, row) },
        { head: t.code, cell: ({ code }) => code === null ? "–" : <code>{code}</code> },
        { head: t.result, cell: ({ outcome }) => outcomes.badge(v, outcome) },
        { head: t.problems, cell: ({ errors }) => errors.join("; ") },
      ]),
    ],
  };
}

export const importPages: ConsolePage[] = [
  importPage,
  {
    path: "permissions/import/template",
    permissions: ["create:permissions"],
    get: (v) => v.api.answer("readImportTemplate", { query: { format: v.query.get("format") } }),
  },
];
