import { FILE_STATUSES, RETENTION_CLASSES } from "../../../domain/files/file.ts";
import { defaultProfiles } from "../../../domain/files/profiles.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { instantOf } from "../components/date_inputs.ts";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, bytes, number, Time } from "../components/values.tsx";
import type { Page, Query } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { mayInFiles, type View, type Visit } from "../shared/page.ts";
import { type File, FileStatusBadge, isMoving } from "./model.tsx";
import { ScannerPlaceholder } from "./scanner.tsx";
import { fileStatusTexts, retentionTexts } from "./status_texts.ts";
import { shortType } from "./types.ts";
import { fileTexts } from "./texts.ts";

/** The tenant's files, newest first, filtered by the query. */
export async function filesPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  const page = await v.api.get<Page<File>>("files", apiQuery(v));
  return {
    title: t.files,
    actions: mayInFiles(v.viewer, "upload:files") &&
      <ButtonLink href="files/upload" label={t.upload} icon="upload" tone="primary" />,
    body: (
      <>
        <ScannerPlaceholder v={v} />
        <Filters v={v} files={page.items} />
        <LivePart v={v} id="files-list" everySeconds={page.items.some(isMoving) ? 3 : 15}>
          <DataTable
            caption={t.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="files" text={t.noFiles}>{t.noFilesText}</EmptyList>}
          />
          <Pager v={v} path="files" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** The API query for the page's query. */
function apiQuery(v: Visit): Query {
  const { query, viewer } = v;
  const show = query.get("show");
  return {
    page: query.get("page"),
    search: query.get("search"),
    status: query.get("status"),
    profile: query.get("profile"),
    retentionClass: query.get("retentionClass"),
    fromDate: instantOf(v, query.get("from") ?? ""),
    toDate: instantOf(v, query.get("to") ?? "", true),
    createdBy: show === "mine" ? viewer.userId : null,
    legalHold: show === "held" ? true : null,
    isProduct: show === "product" ? true : null,
  };
}

function Filters({ v, files }: { v: Visit; files: File[] }) {
  const t = fileTexts[v.locale];
  const { all } = commonTexts[v.locale];
  const { query } = v;
  const chosen = query.get("profile");
  const profiles = new Set([
    ...defaultProfiles.map(({ name }) => name),
    ...files.map(({ profile }) => profile), // a deployment may define more profiles
    ...chosen ? [chosen] : [],
  ]);
  return (
    <FilterBar v={v} action="files" target="files-list">
      <TextField label={t.searchName} name="search" type="search" value={query.get("search")} />
      <SelectField
        label={t.status}
        name="status"
        any={all}
        value={query.get("status")}
        choices={FILE_STATUSES.map((value) => ({ value, label: fileStatusTexts[v.locale][value] }))}
      />
      <SelectField
        label={t.profile}
        name="profile"
        any={all}
        value={query.get("profile")}
        choices={[...profiles].map((value) => ({ value, label: value }))}
      />
      <SelectField
        label={t.retention}
        name="retentionClass"
        any={all}
        value={query.get("retentionClass")}
        choices={RETENTION_CLASSES.map((value) => ({ value, label: retentionTexts[v.locale][value] }))}
      />
      <SelectField
        label={t.show}
        name="show"
        any={t.allFiles}
        value={query.get("show")}
        choices={[
          { value: "mine", label: t.mine },
          { value: "held", label: t.onLegalHold },
          { value: "product", label: t.product },
        ]}
      />
      <TextField label={t.from} name="from" type="date" value={query.get("from")} />
      <TextField label={t.to} name="to" type="date" value={query.get("to")} />
    </FilterBar>
  );
}

function columns(v: Visit): Column<File>[] {
  const t = fileTexts[v.locale];
  return [
    {
      head: t.name,
      cell: ({ id, fileName, profile, detectedContentType, declaredContentType }) => (
        <>
          <a href={`files/${id}`}>{fileName}</a>
          <span class="sub">{`${profile} · ${shortType(detectedContentType ?? declaredContentType)}`}</span>
        </>
      ),
    },
    { head: t.status, cell: ({ status }) => <FileStatusBadge locale={v.locale} status={status} /> },
    {
      head: t.size,
      align: "end",
      cell: ({ sizeBytes }) => <span class="nowrap">{bytes(v, sizeBytes)}</span>,
    },
    {
      head: t.retention,
      cell: ({ retentionClass, legalHold }) => (
        <span class="row">
          {retentionTexts[v.locale][retentionClass]}
          {legalHold && <Badge tone="warn">{t.legalHold}</Badge>}
        </span>
      ),
      wideOnly: true,
    },
    {
      head: t.references,
      align: "end",
      cell: ({ referenceCount }) => number(v, referenceCount),
      wideOnly: true,
    },
    { head: t.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
  ];
}
