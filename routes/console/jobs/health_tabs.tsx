import { alertRules } from "../../../domain/records/alert_rules.ts";
import { labelIn } from "../../../domain/records/labels.ts";
import { tabBar } from "../components/tabs.tsx";
import { defineTexts } from "../shared/languages.ts";
import { may, type Visit } from "../shared/page.ts";
import { deployTexts, workerTexts } from "./worker_texts.ts";

export const healthTexts = defineTexts({
  tabs: ["State of the service", "Estado do serviço"],
  database: ["Database", "Banco de dados"],
});

/** Links between workers, deploys, the database and alert rules; nothing if the viewer may open only one of them. */
export function HealthTabs({ v, current }: { v: Visit; current: string }) {
  const t = healthTexts[v.locale];
  const mayOperate = may(v.viewer, "admin:system");
  const tabs: [href: string, label: string, isOpen: boolean][] = [
    ["workers", workerTexts[v.locale].title, mayOperate],
    ["deploys", deployTexts[v.locale].title, mayOperate],
    ["workers/database", t.database, mayOperate],
    [
      "alert-rules",
      labelIn(alertRules.labels.many ?? "", v.locale),
      v.viewer.tenant !== null && may(v.viewer, "manage:webhooks"),
    ],
  ];
  const open = tabs.filter(([, , isOpen]) => isOpen);
  return open.length > 1
    ? tabBar(t.tabs, open.map(([href, label]) => ({ href, label, isCurrent: href === current })))
    : null;
}
