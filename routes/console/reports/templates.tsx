import { buttonLink } from "../components/forms.tsx";
import { actionsColumn } from "../components/list.tsx";
import { type Column, dataTable } from "../components/table.tsx";
import { Empty } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { View, Visit } from "../shared/page.ts";
import { formatName, readTemplates, type Template } from "./model.tsx";
import { reportTexts } from "./texts.ts";

/** The reports whose data the viewer may see. */
export async function templatesPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const templates = await readTemplates(v);
  return {
    title: t.templates,
    body: dataTable(
      t.templatesCaption,
      templates,
      <Empty icon="reports" title={t.noTemplates}>{t.noTemplatesText}</Empty>,
      columns(v),
    ),
  };
}

function columns(v: Visit): Column<Template>[] {
  const t = reportTexts[v.locale];
  return [
    {
      head: t.report,
      cell: ({ templateId, displayName, description, isGlobal }) => (
        <>
          <span class="row">
            <a href={`reports/${encodeURIComponent(templateId)}`}>{displayName}</a>
            {isGlobal && <Badge tone="idle">{t.allRows}</Badge>}
          </span>
          <span class="sub">{description}</span>
        </>
      ),
    },
    {
      head: t.formats,
      cell: ({ supportedFormats }) => supportedFormats.map(formatName).join(", "),
      wideOnly: true,
    },
    {
      head: t.parameters,
      cell: ({ parameters }) => parameters.map(({ displayName }) => displayName).join(", "),
      wideOnly: true,
    },
    actionsColumn(
      v,
      ({ templateId }) =>
        buttonLink(`reports/${encodeURIComponent(templateId)}`, t.generate, { icon: "play" }),
    ),
  ];
}
