import { ButtonLink } from "../components/forms.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { Empty } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { shared } from "../shared/console_words.ts";
import type { View, Visit } from "../shared/page.ts";
import { formatName, readTemplates, type Template } from "./model.tsx";
import { words } from "./words.ts";

/** The reports whose data the viewer may see. */
export async function templatesPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const templates = await readTemplates(v);
  return {
    title: w.templates,
    body: (
      <DataTable
        caption={w.templatesCaption}
        columns={columns(v)}
        rows={templates}
        empty={<Empty icon="reports" title={w.noTemplates}>{w.noTemplatesText}</Empty>}
      />
    ),
  };
}

function columns(v: Visit): Column<Template>[] {
  const w = words[v.locale];
  return [
    {
      head: w.report,
      cell: ({ templateId, displayName, description, isGlobal }) => (
        <>
          <span class="row">
            <a href={`reports/${encodeURIComponent(templateId)}`}>{displayName}</a>
            {isGlobal && <Badge tone="idle">{w.allRows}</Badge>}
          </span>
          <span class="sub">{description}</span>
        </>
      ),
    },
    {
      head: w.formats,
      cell: ({ supportedFormats }) => supportedFormats.map(formatName).join(", "),
      wideOnly: true,
    },
    {
      head: w.parameters,
      cell: ({ parameters }) => parameters.map(({ displayName }) => displayName).join(", "),
      wideOnly: true,
    },
    {
      head: shared[v.locale].actions,
      align: "end",
      cell: ({ templateId }) => (
        <ButtonLink href={`reports/${encodeURIComponent(templateId)}`} label={w.generate} icon="play" />
      ),
    },
  ];
}
