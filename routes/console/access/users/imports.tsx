import { ActionButton, ButtonLink } from "../../components/forms.tsx";
import { Fields, Form } from "../../components/fields.tsx";
import { listView, timeColumn } from "../../components/list.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { LivePart } from "../../components/table.tsx";
import { Badge, Facts, number, Time } from "../../components/values.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { orNull, Refusal } from "../../shared/api.ts";
import type { Answer } from "../../shared/operations.ts";
import { type ConsolePage, field, mayInFiles, type View, type Visit } from "../../shared/page.ts";
import { userCrumbs } from "./model.tsx";
import { userTexts } from "./texts.ts";

type UserImport = Answer<"readUserImport">;

const REFRESH_SECONDS = 2;
const MAY_IMPORT = ["create:users"];
const TONES = { Queued: "idle", Running: "info", Completed: "ok", Failed: "bad" } as const;
const importCrumbs = (v: Visit) => [
  ...userCrumbs(v),
  { href: "user-imports", label: userTexts[v.locale].imports },
];

/** The tenant's imports of users. */
async function importsPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  return await listView(v, "listUserImports", {
    path: "user-imports",
    icon: "users",
    title: t.imports,
    crumbs: userCrumbs(v),
    actions: <ButtonLink href="user-imports/new" label={t.importUsers} icon="plus" tone="primary" />,
    caption: t.imports,
    empty: [t.noImports, t.noImportsText],
    columns: [
      {
        head: t.importStartedAt,
        cell: ({ id, createdAt }) => (
          <a href={`user-imports/${id}`}>
            <Time v={v} at={createdAt} />
          </a>
        ),
      },
      { head: t.status, cell: (row) => <ImportStatus v={v} row={row} /> },
      { head: t.imported, cell: (row) => countsOf(v, row) },
      timeColumn(v, t.finished, "finishedAt", { wideOnly: true }),
    ],
  });
}

function ImportStatus({ v, row }: { v: Visit; row: UserImport }) {
  const t = userTexts[v.locale];
  const labels = {
    Queued: t.importWaiting,
    Running: t.importRunning,
    Completed: t.importCompleted,
    Failed: t.importFailed,
  };
  return (
    <span class="row">
      <Badge tone={TONES[row.status]}>{labels[row.status]}</Badge>
      {row.dryRun && <Badge tone="idle">{t.dryRun}</Badge>}
    </span>
  );
}

const countsOf = (v: Visit, { created, updated, unchanged, failed }: UserImport): string =>
  userTexts[v.locale].importCounts(
    ...([created, updated, unchanged, failed].map((n) => number(v, n)) as [string, string, string, string]),
  );

/** One import: progress, counts and the result file; after a dry run a button that imports. */
async function importPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const found = await v.api.call("readUserImport", { params: v.params });
  const { id, fileId, status, dryRun, total, resultFileId, error } = found;
  const isOpen = status === "Queued" || status === "Running";
  const seesFiles = mayInFiles(v.viewer, "read:files");
  return {
    title: dryRun ? t.dryRunTitle : t.importTitle,
    crumbs: importCrumbs(v),
    actions: status === "Completed" && dryRun && (
      <ActionButton
        v={v}
        action="user-imports/new"
        label={t.importNow}
        confirm={t.importNowConfirm(number(v, total ?? 0))}
        fields={{ fileId }}
      />
    ),
    body: (
      <LivePart v={v} id={`import-${id}`} {...isOpen ? { everySeconds: REFRESH_SECONDS } : {}}>
        {error && <Notice tone="bad">{error}</Notice>}
        <Card>
          <Facts
            facts={[
              [t.status, <ImportStatus v={v} row={found} />],
              [t.rows, total === null ? null : number(v, total)],
              [t.imported, countsOf(v, found)],
              seesFiles &&
              [t.result, resultFileId && <a href={`files/${resultFileId}`}>{t.resultFile}</a>],
              seesFiles && [t.sourceFile, <a href={`files/${fileId}`}>{t.openFile}</a>],
              [t.importStartedAt, <Time v={v} at={found.createdAt} />],
              [t.finished, found.finishedAt && <Time v={v} at={found.finishedAt} />],
            ]}
          />
        </Card>
      </LivePart>
    ),
  };
}

/** The form that imports an uploaded file, at first as a dry run. */
const newImportPage = formPage({
  path: "user-imports/new",
  permissions: MAY_IMPORT,
  async show(v, sent) {
    const t = userTexts[v.locale];
    if (!v.viewer.tenant) throw new Refusal({ status: 404, detail: "The viewer is in no tenant." });
    const query = { status: "Available", profile: "document", pageSize: 50 };
    const files = mayInFiles(v.viewer, "read:files")
      ? await orNull(v.api.call("listFiles", { query }))
      : null;
    const f = new Fields(v, sent, "startUserImport", { dryRun: true, fileId: v.query.get("fileId") ?? "" });
    const choices = (files?.items ?? []).filter(({ declaredContentType }) =>
      declaredContentType.startsWith("text/")
    ).map(({ id, fileName }) => ({ value: id, label: fileName }));
    return {
      title: t.importUsers,
      crumbs: importCrumbs(v),
      actions: mayInFiles(v.viewer, "upload:files") && (
        <ButtonLink href="files/upload" label={t.uploadFile} icon="plus" />
      ),
      body: (
        <Card>
          <p class="muted">{t.importHint}</p>
          <Form fields={f} action="user-imports/new" submit={t.importStart} back="user-imports">
            {choices.length > 0
              ? f.select("fileId", t.sourceFile, choices, { hint: t.fileHint })
              : f.text("fileId", t.fileId, { hint: t.fileHint })}
            {f.check("dryRun", t.dryRun, t.dryRunHint)}
          </Form>
        </Card>
      ),
    };
  },
  async send(v, form) {
    const { importId } = await v.api.call("startUserImport", {
      body: { fileId: field(form, "fileId"), dryRun: form.get("dryRun") === "true" },
    });
    return done(`user-imports/${importId}`, userTexts[v.locale].importStarted);
  },
});

export const importPages: ConsolePage[] = [
  { path: "user-imports", permissions: MAY_IMPORT, get: importsPage },
  newImportPage,
  { path: "user-imports/{id}", permissions: MAY_IMPORT, get: importPage },
];
