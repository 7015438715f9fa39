import { actionButton, buttonLink } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { timeColumn } from "../components/list.tsx";
import { action, showing, toDocument } from "../shared/actions.ts";
import { sectionTexts } from "../shared/labels.ts";
import type { Answer } from "../shared/operations.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";

const texts = sectionTexts({
  title: ["Your data", "Os seus dados"],
  text: [
    "An export is a ZIP file with everything that is stored about you. It can be downloaded for seven days.",
    "Uma exportação é um arquivo ZIP com tudo o que está salvo sobre você. Pode ser baixada durante sete dias.",
  ],
  caption: ["Exports of your data", "Exportações dos seus dados"],
  export: ["Export my data", "Exportar os meus dados"],
  asked: ["The export has begun.", "A exportação começou."],
  from: ["Asked for", "Pedida"],
  Queued: ["In preparation", "Em preparação"],
  Running: ["In preparation", "Em preparação"],
  Completed: ["Ready", "Pronta"],
  Failed: ["Failed", "Falhou"],
});

type OwnExport = Answer<"listMyDataRequests">[number];

/** The viewer's exports of their own data. */
export function OwnData({ v, exports }: { v: Visit; exports: OwnExport[] }) {
  const t = texts[v.locale];
  return (
    <Card title={t.title} actions={actionButton(v, "account/export", t.export)}>
      <p class="muted">{t.text}</p>
      {dataTable(t.caption, exports, null, [
        timeColumn<OwnExport>(v, t.from, "createdAt"),
        { head: t.status, cell: ({ status }) => t[status] },
        {
          head: t.download,
          cell: ({ id, fileId }) =>
            fileId && buttonLink(`own-exports/${id}`, t.download, { icon: "download" }),
        },
      ])}
    </Card>
  );
}

export const ownDataPages: ConsolePage[] = [
  action("account/export", "exportMyData", showing("account", texts, "asked")),
  {
    path: "own-exports/{requestId}",
    get: (v) => toDocument(v, v.api.call("downloadMyData", { params: v.params }), "account"),
  },
];
