import { Card, Notice } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import type { Answer } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { templateTexts } from "./template_texts.ts";

/** Says above the form how many templates a layout or partial breaks. */
export function BrokenUses({ v, uses }: { v: Visit; uses: Answer<"listTemplateUses"> }) {
  const broken = uses.filter(({ error }) => error !== null).length;
  return broken > 0 ? <Notice tone="bad" title={templateTexts[v.locale].broken(broken)} /> : null;
}

/** The templates that use a layout or partial, and why it breaks some. */
export function TemplateUses({ v, uses }: { v: Visit; uses: Answer<"listTemplateUses"> }) {
  const t = templateTexts[v.locale];
  return (
    <Card title={t.usedBy}>
      {uses.length === 0 ? <p class="muted">{t.unused}</p> : (
        <ul class="stack">
          {uses.map(({ id, slug, locale, name, error }) => (
            <li>
              <a href={`templates/${id}`}>{name}</a> <code>{slug}</code> · <code>{locale}</code>{" "}
              {error === null
                ? <Badge tone="ok">{t.renders}</Badge>
                : <Badge tone="bad">{t.doesNotRender}</Badge>}
              {error && <div class="hint" lang="en">{error}</div>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
