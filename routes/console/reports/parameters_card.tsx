import { Card } from "../components/notice.tsx";
import { factList } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import type { Template } from "./model.tsx";
import { reportTexts } from "./texts.ts";

/** The parameters of a run or a schedule. */
export function ParametersCard(
  { v, templates, of: { templateId, parametersJson } }: {
    v: Visit;
    /** Used for the names of the parameters. */
    templates: Template[];
    of: { templateId: string; parametersJson: string };
  },
) {
  const t = reportTexts[v.locale];
  const { yes, no } = commonTexts[v.locale];
  const entries = Object.entries(JSON.parse(parametersJson) as Record<string, unknown>);
  const template = templates.find((each) => each.templateId === templateId);
  const displayName = (name: string) =>
    template?.parameters.find((each) => each.name === name)?.displayName ?? name;
  const shown = (value: unknown): string => {
    if (typeof value === "boolean") return value ? yes : no;
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <Card title={t.parameters}>
      {entries.length === 0
        ? <p class="muted">{commonTexts[v.locale].none}</p>
        : factList(entries.map(([name, value]) => [displayName(name), shown(value)]))}
    </Card>
  );
}
