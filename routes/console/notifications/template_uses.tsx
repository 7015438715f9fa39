import { Card, Notice } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { may, type Visit } from "../shared/page.ts";
import type { Uses } from "./edited.ts";
import { templateTexts } from "./template_texts.ts";

/** Says above the form how many templates a layout or partial breaks. */
export function BrokenUses({ v, uses }: { v: Visit; uses: Uses }) {
  const t = templateTexts[v.locale];
  const countBroken = (of: { error: string | null }[]) => of.filter(({ error }) => error !== null).length;
  const [messages, documents] = [countBroken(uses.templates), countBroken(uses.documents)];
  return (
    <>
      {messages > 0 && <Notice tone="bad" title={t.broken(messages)} />}
      {documents > 0 && <Notice tone="bad" title={t.brokenDocuments(documents)} />}
    </>
  );
}

/** The templates that use a layout or partial, and why it breaks some. */
export function TemplateUses({ v, uses: { templates, documents } }: { v: Visit; uses: Uses }) {
  const t = templateTexts[v.locale];
  const mayOpen = may(v.viewer, "manage:document-templates") || may(v.viewer, "generate:documents");
  return (
    <Card title={t.usedBy}>
      {templates.length + documents.length === 0 ? <p class="muted">{t.unused}</p> : (
        <ul class="stack">
          {templates.map((use) => <TemplateUse v={v} use={use} href={`templates/${use.id}`} />)}
          {documents.map((use) => (
            <TemplateUse
              v={v}
              use={use}
              href={mayOpen ? `document-templates/${use.id}` : null}
              note={t.documentTemplate}
            />
          ))}
        </ul>
      )}
    </Card>
  );
}

function TemplateUse({ v, use: { name, slug, locale, error }, href, note }: {
  v: Visit;
  use: Uses["documents"][number];
  /** Null: the viewer may not open it. */
  href: string | null;
  note?: string;
}) {
  const t = templateTexts[v.locale];
  return (
    <li>
      {href === null ? name : <a href={href}>{name}</a>} <code>{slug}</code> · <code>{locale}</code>
      {note && ` · ${note}`}{" "}
      {error === null ? <Badge tone="ok">{t.renders}</Badge> : <Badge tone="bad">{t.doesNotRender}</Badge>}
      {error && <div class="hint" lang="en">{error}</div>}
    </li>
  );
}
