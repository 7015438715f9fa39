import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { defaultProfiles } from "../../../domain/files/profiles.ts";
import { PURGE_KINDS } from "../../../domain/files/purge_reasons.ts";
import { periodOf } from "../components/date_inputs.ts";
import { buttonLink, TextArea } from "../components/forms.tsx";
import {
  choice,
  hidden,
  labelled,
  linkColumn,
  list,
  period,
  search,
  timeColumn,
} from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { Statistic, StatisticRow } from "../components/statistics.tsx";
import { Badge, bytes, duration, number } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { sectionTexts } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";
import { mayInFiles, rowActions, type View, type Visit } from "../shared/page.ts";
import { type File, FILE_STATES, fileBadge, fileStates, isMoving } from "./model.tsx";
import { fileTexts, retentionTexts } from "./texts.ts";
import { shortType } from "./upload.tsx";

/** The tenant's files, newest first, filtered by the query. */
export async function filesPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  const show = v.query.get("show");
  const purgeKind = PURGE_KINDS.find((kind) => kind === v.query.get("status"));
  const page = await v.api.list("listFiles", v, {
    ...periodOf(v),
    createdBy: show === "mine" ? v.viewer.userId : v.query.get("createdBy"),
    ...purgeKind && { status: null, purgeKind },
    legalHold: show === "held" ? true : null,
    isProduct: show === "product" ? true : null,
  });
  return {
    title: t.files,
    actions: mayInFiles(v.viewer, "upload:files") &&
      buttonLink("files/upload", t.upload, { icon: "upload", tone: "primary" }),
    body: list(v, page, {
      caption: t.caption,
      empty: [t.noFiles, t.noFilesText],
      top: <ScannerPlaceholder v={v} />,
      filters: [
        search(t.searchName),
        choice("status", t.status, fileStates.choices(v, FILE_STATES)),
        choice("profile", t.profile, profileChoices(v, page.items)),
        choice("retentionClass", t.retention, labelled(RETENTION_CLASSES, retentionTexts[v.locale])),
        hidden("createdBy"),
        choice("show", t.show, { mine: t.mine, held: t.onLegalHold, product: t.product }, t.allFiles),
        ...period(t),
      ],
      bulk: fileActions,
      everySeconds: page.items.some(isMoving) ? 3 : 15,
      columns: [
        linkColumn(t.name, ({ id, fileName }) => [`files/${id}`, fileName], {
          below: [
            [t.profile, ({ profile }) => profile],
            [
              t.contentType,
              ({ detectedContentType, declaredContentType }) =>
                shortType(detectedContentType ?? declaredContentType),
            ],
          ],
        }),
        { head: t.status, cell: (file) => fileBadge(v, file) },
        {
          head: t.size,
          align: "end",
          csv: ({ sizeBytes }) => String(sizeBytes ?? ""),
          cell: ({ sizeBytes }) => <span class="nowrap">{bytes(v, sizeBytes)}</span>,
        },
        {
          head: t.retention,
          cell: ({ retentionClass }) => retentionTexts[v.locale][retentionClass],
          below: [[t.legalHold, ({ legalHold }) => legalHold && <Badge tone="warn">{t.legalHold}</Badge>]],
          wideOnly: true,
        },
        {
          head: t.references,
          align: "end",
          cell: ({ referenceCount }) => number(v, referenceCount),
          wideOnly: true,
        },
        timeColumn(v, t.created, "createdAt"),
      ],
    }),
  };
}

/** The built-in profiles, and those of the shown files: a deployment may define more. */
function profileChoices(v: Visit, files: File[]) {
  const chosen = v.query.get("profile");
  const names = [...defaultProfiles.map(({ name }) => name), ...files.map(({ profile }) => profile)];
  return [...new Set(chosen ? [...names, chosen] : names)].map((value) => ({ value, label: value }));
}

const texts = sectionTexts({
  reasonHint: ["It is in the audit log of each file.", "Fica no registro de auditoria de cada arquivo."],
});

const Reason = (v: Visit) => {
  const t = texts[v.locale];
  return <TextArea label={t.reason} name="reason" hint={t.reasonHint} rows={2} required />;
};

const setHold = (v: Visit, id: string, legalHold: boolean, { reason }: Record<string, string>) =>
  v.api.call("changeRetention", { params: { id }, body: { legalHold, reason } });

export const fileActions = rowActions<File>({
  hold: {
    label: ["Set legal hold", "Aplicar retenção legal"],
    question: counted(
      ["file: set the legal hold?", "files: set the legal hold?"],
      ["arquivo: aplicar a retenção legal?", "arquivos: aplicar a retenção legal?"],
    ),
    isOffered: (v) => mayInFiles(v.viewer, "retain:files"),
    fits: ({ legalHold, status }) => !legalHold && status !== "Purged",
    fields: Reason,
    run: (v, id, fields) => setHold(v, id, true, fields),
  },
  release: {
    label: ["Release legal hold", "Liberar da retenção legal"],
    question: counted(
      ["file: release the legal hold?", "files: release the legal hold?"],
      ["arquivo: liberar da retenção legal?", "arquivos: liberar da retenção legal?"],
    ),
    isOffered: (v) => mayInFiles(v.viewer, "retain:files"),
    fits: ({ legalHold }) => legalHold,
    fields: Reason,
    run: (v, id, fields) => setHold(v, id, false, fields),
  },
  purge: {
    label: ["Purge", "Excluir conteúdo"],
    question: counted(
      ["file: purge its content?", "files: purge their contents?"],
      ["arquivo: excluir o conteúdo?", "arquivos: excluir os conteúdos?"],
    ),
    tone: "danger",
    isOffered: (v) => mayInFiles(v.viewer, "purge:files"),
    fits: ({ legalHold, status }) => !legalHold && status === "Available",
    fields: Reason,
    run: (v, id, { reason = "" }) => v.api.call("purgeFile", { params: { id }, body: { reason } }),
  },
});

const ID = "scanner";
/** Two pages show the card. The swap keeps the title of the page. */
const SWAP = "outerHTML ignoreTitle:true";

/** Placeholder that loads the scanner statistics after the page, so that a slow engine does not delay the list. */
const ScannerPlaceholder = ({ v }: { v: Visit }) => (
  <div
    id={ID}
    hx-get="files/scanner"
    hx-select={`#${ID}`}
    hx-swap={SWAP}
    hx-trigger="load"
  >
    <StatisticRow>
      <Statistic
        label={fileTexts[v.locale].scanner}
        value={<a href="files/scanner">{fileTexts[v.locale].details}</a>}
        hint={`${fileTexts[v.locale].loading}…`}
      />
    </StatisticRow>
  </div>
);

/** The scan engine, the age of its signatures, and the number of files waiting for a scan. */
export async function scannerPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  return {
    title: t.scanner,
    body: (
      <div id={ID} hx-get="files/scanner" hx-select={`#${ID}`} hx-swap={SWAP} hx-trigger="every 30s">
        {await scannerStatistics(v)}
      </div>
    ),
  };
}

async function scannerStatistics(v: Visit) {
  const t = fileTexts[v.locale];
  const scanner = await v.api.call("readScannerStatus").catch((error) => {
    if (error instanceof Refusal && error.code === "FILE_SCAN_UNAVAILABLE") return null;
    throw error;
  });
  if (!scanner) {
    return (
      <Card>
        <Notice tone="bad" title={t.scanner}>{t.scannerUnavailable}</Notice>
      </Card>
    );
  }
  const { engine, databaseVersion, databaseAgeHours: age, databaseStale, queueDepth } = scanner;
  const oldest = scanner.queueOldestItemAgeSeconds;
  return (
    <StatisticRow>
      <Statistic label={t.scanner} value={engine} {...databaseVersion ? { hint: databaseVersion } : {}} />
      <Statistic
        label={t.databaseAge}
        value={age === null ? t.unknown : t.hours(number(v, age))}
        tone={databaseStale ? "warn" : "ok"}
        hint={databaseStale ? t.stale : t.fresh}
      />
      <Statistic
        label={t.filesWaiting}
        value={number(v, queueDepth)}
        href="files?status=Scanning"
        hint={oldest === null ? t.noFilesWaiting : t.oldest(duration(v, oldest * 1000))}
      />
    </StatisticRow>
  );
}
