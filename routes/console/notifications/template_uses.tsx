import { Card, Notice } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { Answer } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { templateTexts } from "./template_texts.ts";

/** The templates that use a layout or partial, and those that it breaks. */
export function TemplateUses({ v, uses }: { v: Visit; uses: Answer<"listTemplateUses"> }) {
  const t = templateTexts[v.locale];
  const broken = uses.filter(({ error }) => error !== null).length;
  return (
    <Card title={t.usedBy}>
      {broken > 0 && <Notice tone="bad" title={t.broken(broken)} />}
      {uses.length === 0 ? <p class="muted">{t.unused}</p> : (
        <ul class="stack">
          {uses.map(({ id, slug, locale, name, error }) => (
            <li>
              <a href={`templates/${id}`}>{name}</a> <code>{slug}</code> · <code>{locale}</code>{" "}
              {error === null
                ? <Badge tone="ok">{t.renders}</Badge>
                : <Badge tone="bad">{t.doesNotRender}</Badge>}
              {error && <span class="sub" lang="en">{error}</span>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
