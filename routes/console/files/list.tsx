import { RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { PURGE_KINDS } from "../../../domain/files/purge_reasons.ts";
import { defaultProfiles } from "../../../domain/files/profiles.ts";
import { periodOf } from "../components/date_inputs.ts";
import { buttonLink } from "../components/forms.tsx";
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
import { Badge, bytes, number } from "../components/values.tsx";
import { mayInFiles, type View, type Visit } from "../shared/page.ts";
import { type File, FILE_STATES, fileBadge, fileStates, isMoving } from "./model.tsx";
import { fileActions } from "./row_actions.tsx";
import { ScannerPlaceholder } from "./scanner.tsx";
import { fileTexts, retentionTexts } from "./texts.ts";
import { shortType } from "./types.ts";

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
      path: "files",
      icon: "files",
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
  const names = [...defaultProfiles, ...files.map(({ profile }) => ({ name: profile }))].map(({ name }) =>
    name
  );
  return [...new Set(chosen ? [...names, chosen] : names)].map((value) => ({ value, label: value }));
}
