import { Card } from "../components/notice.tsx";
import { Facts } from "../components/values.tsx";
import { shared } from "../shared/console_words.ts";
import type { Visit } from "../shared/page.ts";
import type { Template } from "./model.tsx";
import { words } from "./words.ts";

/** What a report was or is to be made with. */
export function ParametersCard(
  { v, templates, of: { templateId, parametersJson } }: {
    v: Visit;
    /** For what the parameters are called. */
    templates: Template[];
    of: { templateId: string; parametersJson: string };
  },
) {
  const w = words[v.locale];
  const { yes, no } = shared[v.locale];
  const entries = Object.entries(JSON.parse(parametersJson) as Record<string, unknown>);
  const template = templates.find((each) => each.templateId === templateId);
  const called = (name: string) =>
    template?.parameters.find((each) => each.name === name)?.displayName ?? name;
  const shown = (value: unknown): string => {
    if (typeof value === "boolean") return value ? yes : no;
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <Card title={w.parameters}>
      {entries.length === 0
        ? <p class="muted">{shared[v.locale].none}</p>
        : <Facts facts={entries.map(([name, value]) => [called(name), shown(value)])} />}
    </Card>
  );
}
