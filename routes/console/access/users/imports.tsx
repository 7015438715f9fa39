import { actionButton, buttonLink, FormRefusal } from "../../components/forms.tsx";
import { Fields, Form } from "../../components/fields.tsx";
import { listView, timeColumn } from "../../components/list.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { type Column, dataTable, LivePart, tableCard } from "../../components/table.tsx";
import { Badge, bytes, factList, number, Time } from "../../components/values.tsx";
import { UploadForm } from "../../files/upload.tsx";
import { done, formPage, sendTo } from "../../shared/actions.ts";
import { orNull } from "../../shared/api.ts";
import type { Answer } from "../../shared/operations.ts";
import { type ConsolePage, field, may, mayInFiles, type View, type Visit } from "../../shared/page.ts";
import { usersCrumb, UserTabs } from "./model.tsx";
import { userTexts } from "./texts.ts";
import { defineStates } from "../../components/states.tsx";
import { CATALOGUE, isProblemCode } from "../../../../domain/problems/problem.ts";
import { translateValidation } from "../../shared/translations.ts";
import { chosenTenant, userName } from "../../shared/access_queries.ts";

type UserImport = Answer<"readUserImport">;

const REFRESH_SECONDS = 2;
const RESULT_SCAN_MS = 60_000;
const PROFILE = "document";
const MAY_IMPORT = ["create:users"];
const importStates = defineStates<UserImport["status"]>({
  Queued: ["idle", "Waiting", "Em espera"],
  Running: ["info", "Running", "Em andamento"],
  Completed: ["ok", "Completed", "Concluída"],
  Failed: ["bad", "Failed", "Falhou"],
});
type Outcome = "Created" | "Updated" | "Unchanged" | "Failed";
const outcomes = defineStates<Outcome>({
  Created: ["ok", "created", "criado"],
  Updated: ["info", "updated", "atualizado"],
  Unchanged: ["idle", "unchanged", "sem alteração"],
  Failed: ["bad", "error", "erro"],
});
const dryOutcomes = defineStates<Outcome>({
  Created: ["ok", "would be created", "seria criado"],
  Updated: ["info", "would be updated", "seria atualizado"],
  Unchanged: ["idle", "would not change", "não mudaria"],
  Failed: ["bad", "error", "erro"],
});
const importCrumbs = (v: Visit) => [
  usersCrumb(v),
  { href: "user-imports", label: userTexts[v.locale].imports },
];

/** The tenant's imports of users. */
async function importsPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const { Updated, Unchanged, Failed } = outcomes.labels[v.locale];
  return await listView(v, "listUserImports", {
    title: t.imports,
    crumbs: [usersCrumb(v)],
    actions: buttonLink("user-imports/new", t.importUsers, { icon: "plus", tone: "primary" }),
    caption: t.imports,
    empty: [t.noImports, t.noImportsText],
    top: <UserTabs v={v} current="user-imports" />,
    columns: [
      {
        head: t.importStartedAt,
        cell: ({ id, createdAt }) => (
          <a href={`user-imports/${id}`}>
            <Time v={v} at={createdAt} />
          </a>
        ),
      },
      {
        head: t.status,
        cell: ({ status }) => importStates.badge(v, status),
        below: [[t.dryRun, ({ dryRun }) => dryRun && <Badge tone="idle">{t.dryRun}</Badge>]],
      },
      {
        head: t.users,
        cell: (row) => countsOf(v, row),
        csv: ({ created }) => String(created),
        below: [
          [Updated, ({ updated }) => v.collect && String(updated)],
          [Unchanged, ({ unchanged }) => v.collect && String(unchanged)],
          [Failed, ({ failed }) => v.collect && String(failed)],
        ],
      },
      timeColumn(v, t.finished, "finishedAt", { wideOnly: true }),
    ],
  });
}

const countsOf = (v: Visit, { created, updated, unchanged, failed }: UserImport): string =>
  userTexts[v.locale].importCounts(
    ...([created, updated, unchanged, failed].map((n) => number(v, n)) as [string, string, string, string]),
  );

/** One import: progress, counts, the first rows and those with errors; after a dry run a button that imports. */
async function importPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const preview = await orNull(v.api.call("previewUserImport", { params: v.params }));
  // Read after the preview, so that the rows of an ended import come with its end.
  const found = await v.api.call("readUserImport", { params: v.params });
  const { id, fileId, status, dryRun, total, resultFileId, error, created, updated } = found;
  const starter = may(v.viewer, "read:users")
    ? await orNull(v.api.call("readUser", { params: { id: found.createdBy } }))
    : null;
  const isOpen = status === "Queued" || status === "Running" ||
    status === "Completed" && preview !== null && !preview.isComplete && isFresh(v, found.finishedAt);
  const seesFiles = mayInFiles(v.viewer, "read:files");
  return {
    title: dryRun ? t.dryRunTitle : t.importTitle,
    crumbs: importCrumbs(v),
    body: (
      <LivePart v={v} id={`import-${id}`} {...isOpen ? { everySeconds: REFRESH_SECONDS } : {}}>
        {error && <Notice tone="bad">{error}</Notice>}
        <Card
          actions={status === "Completed" && dryRun && created + updated > 0 &&
            actionButton(v, "user-imports/new", t.importNow, {
              tone: "primary",
              confirm: t.importNowConfirm(number(v, total ?? 0)),
              fields: { fileId },
            })}
        >
          {factList([
            [
              t.status,
              <span class="row">
                {importStates.badge(v, status)}
                {dryRun && <Badge tone="idle">{t.dryRun}</Badge>}
              </span>,
            ],
            [t.rows, total === null ? null : number(v, total)],
            [t.users, countsOf(v, found)],
            seesFiles &&
            [t.result, resultFileId && <a href={`files/${resultFileId}`}>{t.resultFile}</a>],
            seesFiles && [t.file, <a href={`files/${fileId}`}>{t.openFile}</a>],
            starter && [t.importedBy, <a href={`users/${starter.id}`}>{userName(starter)}</a>],
            [t.importStartedAt, <Time v={v} at={found.createdAt} />],
            [t.finished, found.finishedAt && <Time v={v} at={found.finishedAt} />],
          ])}
        </Card>
        {preview && <ImportRows v={v} found={found} preview={preview} />}
      </LivePart>
    ),
  };
}

/** True if the import has ended recently. Its result is scanned before it can be read, and is purged later. */
const isFresh = (v: Visit, finishedAt: string | null): boolean =>
  finishedAt !== null && v.now.getTime() - Date.parse(finishedAt) < RESULT_SCAN_MS;

/** The page that uploads a file, and starts a dry run of it. */
const newImportPage = formPage({
  path: "user-imports/new",
  permissions: MAY_IMPORT,
  async show(v, sent) {
    const t = userTexts[v.locale];
    chosenTenant(v);
    const fileId = sent?.form?.get("fileId")?.toString() ?? v.query.get("fileId") ?? "";
    const f = new Fields(v, sent, "startUserImport", { fileId });
    const isChosen = fileId !== "" && !sent?.refusal;
    return {
      title: t.importUsers,
      crumbs: importCrumbs(v),
      scripts: !isChosen && mayInFiles(v.viewer, "upload:files") ? ["upload.js"] : [],
      body: isChosen ? await chosenFile(v, f, fileId) : await chooseFile(v, f),
    };
  },
  send: sendTo(
    "startUserImport",
    (form) => ({ fileId: field(form, "fileId"), dryRun: form.get("dryRun") === "true" }),
    (v, { importId }) => done(`user-imports/${importId}`, userTexts[v.locale].importStarted),
  ),
});

/** The form that uploads a file, and the uploaded files. */
async function chooseFile(v: Visit, f: Fields) {
  const t = userTexts[v.locale];
  const mayUpload = mayInFiles(v.viewer, "upload:files");
  const query = { status: "Available", profile: PROFILE, pageSize: 50 };
  const [profiles, files] = await Promise.all([
    mayUpload ? v.api.call("listFileProfiles") : [],
    mayInFiles(v.viewer, "read:files") ? orNull(v.api.call("listFiles", { query })) : null,
  ]);
  const choices = (files?.items ?? []).filter(({ declaredContentType }) =>
    declaredContentType.startsWith("text/")
  ).map(({ id, fileName }) => ({ value: id, label: fileName }));
  const form = (
    <Form fields={f} action="user-imports/new" submit={t.checkFile} back="user-imports">
      <input type="hidden" name="dryRun" value="true" />
      {choices.length > 0
        ? f.select("fileId", t.file, choices, { hint: t.fileHint })
        : f.text("fileId", t.fileId, { hint: t.fileHint })}
    </Form>
  );
  return (
    <Card>
      <p class="muted">{t.importHint}</p>
      {mayUpload && <FormRefusal v={v} refusal={f.sent?.refusal ?? null} known={[]} />}
      {mayUpload && (
        <UploadForm
          v={v}
          profiles={profiles.filter(({ name }) => name === PROFILE)}
          label={t.uploadAndCheck}
          goTo="user-imports/new?fileId={id}"
        >
          <input type="hidden" name="profile" value={PROFILE} />
        </UploadForm>
      )}
      {mayUpload
        ? (
          <details>
            <summary>{t.chooseUploaded}</summary>
            {form}
          </details>
        )
        : form}
    </Card>
  );
}

/** An uploaded file: the button that checks it, as soon as its scan has ended. */
async function chosenFile(v: Visit, f: Fields, fileId: string) {
  const t = userTexts[v.locale];
  const file = await orNull(v.api.call("readFile", { params: { id: fileId } }));
  const isMoving = file?.status === "Pending" || file?.status === "Scanning";
  return (
    <LivePart v={v} id="import-file" {...isMoving ? { everySeconds: REFRESH_SECONDS } : {}}>
      <Card>
        {file && factList([[t.file, file.fileName], [t.size, bytes(v, file.sizeBytes)]])}
        {isMoving && <Notice tone="info">{t.fileScanning}</Notice>}
        {file && !isMoving && file.status !== "Available" && (
          <Notice tone="bad">
            {t.fileNotUsable} <a href={`files/${file.id}`}>{t.openFile}</a>
          </Notice>
        )}
        {(file === null || file.status === "Available") && (
          <Form fields={f} action="user-imports/new" submit={t.checkFile} back="user-imports/new">
            <input type="hidden" name="fileId" value={fileId} />
            <input type="hidden" name="dryRun" value="true" />
            <p class="hint">{t.checkHint}</p>
          </Form>
        )}
      </Card>
    </LivePart>
  );
}

export const importPages: ConsolePage[] = [
  { path: "user-imports", permissions: MAY_IMPORT, get: importsPage },
  newImportPage,
  { path: "user-imports/{id}", permissions: MAY_IMPORT, get: importPage },
];

type Preview = Answer<"previewUserImport">;
type Row = Preview["rows"][number];

/** The first rows of an import by column, and the rows with errors. */
function ImportRows({ v, found, preview }: {
  v: Visit;
  found: Answer<"readUserImport">;
  preview: Preview;
}) {
  const t = userTexts[v.locale];
  const { columns, rows, failures, isComplete } = preview;
  const outcome: Column<Row> = {
    head: t.result,
    cell: ({ outcome }) => outcome && (found.dryRun ? dryOutcomes : outcomes).badge(v, outcome as Outcome),
  };
  const shown: Column<Row>[] = [
    { head: t.row, cell: ({ row }) => number(v, row) },
    ...columns.map((name): Column<Row> => ({ head: name, cell: ({ values }) => values[name] || "–" })),
    ...isComplete ? [outcome] : [],
  ];
  return (
    <>
      {found.failed > 0 && !isComplete && <p class="muted">{t.waitingForResult}</p>}
      {isComplete && (
        <Card title={t.failedRows}>
          {dataTable(t.failedRows, failures, t.noFailedRows, [
            { head: t.row, cell: ({ row }) => number(v, row) },
            { head: t.email, cell: ({ email }) => email ?? "–" },
            { head: t.error, cell: ({ error }) => errorText(v, error) },
          ])}
          {found.failed > failures.length && (
            <p class="hint">{t.moreFailures(number(v, failures.length), number(v, found.failed))}</p>
          )}
        </Card>
      )}
      {rows.length > 0 && tableCard(t.firstRows, rows, null, shown)}
    </>
  );
}

/** The errors of a row in the viewer's language: "email: expected an email address; roles: …". */
const errorText = (v: Visit, error: string): string =>
  error.split("; ").map((each) => {
    const [, name, message] = /^(\w+): (.*)$/s.exec(each) ?? [];
    if (name && message && isProblemCode(name)) return `${CATALOGUE[name].user[v.locale]} (${message})`;
    return name && message ? `${name}: ${translateValidation(v.locale, message)}` : each;
  }).join("; ");
