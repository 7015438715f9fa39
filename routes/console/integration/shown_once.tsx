import type { Child } from "hono/jsx";
import { ButtonLink } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { CopyValue } from "../components/values.tsx";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

/** The page after a secret was made: the answer to its form, so that it stands in no address and no cookie. */
export function shownOnce(v: Visit, o: {
  title: string;
  crumb: { href: string; label: string };
  secret: string;
  label: string;
  back: { href: string; label: string };
  more?: Child;
}): View {
  const t = integrationTexts[v.locale];
  return {
    title: o.title,
    crumbs: [o.crumb],
    body: (
      <>
        <Notice tone="warn">{t.shownOnce}</Notice>
        <Card title={o.label}>
          <p>
            <CopyValue v={v} value={o.secret} />
          </p>
          {o.more}
        </Card>
        <div>
          <ButtonLink {...o.back} tone="primary" />
        </div>
      </>
    ),
  };
}
