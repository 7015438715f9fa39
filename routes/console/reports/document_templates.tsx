import { buttonLink } from "../components/forms.tsx";
import { actionsColumn, linkColumn, listView, search, timeColumn } from "../components/list.tsx";
import { may, type View, type Visit } from "../shared/page.ts";
import { documentTemplateTexts } from "./document_texts.ts";

/** The tenant's document templates, by slug and locale. */
export async function documentTemplatesPage(v: Visit): Promise<View> {
  const t = documentTemplateTexts[v.locale];
  return await listView(v, "listDocumentTemplates", {
    path: "document-templates",
    icon: "templates",
    title: t.title,
    actions: may(v.viewer, "manage:document-templates") &&
      buttonLink("document-templates/new", t.newTemplate, { icon: "plus", tone: "primary" }),
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [search(t.search)],
    columns: [
      linkColumn(t.name, ({ id, slug, name }) => [`document-templates/${id}`, name, <code>{slug}</code>]),
      { head: t.locale, cell: ({ locale }) => <code>{locale}</code> },
      { head: t.version, align: "end", cell: ({ version }) => version },
      timeColumn(v, t.changed, "updatedAt"),
      actionsColumn(
        v,
        ({ id }) =>
          may(v.viewer, "generate:documents") &&
          buttonLink(`document-templates/${id}/generate`, t.generate, { icon: "play" }),
      ),
    ],
  });
}
