import type { Child } from "hono/jsx";
import { buttonLink } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { CopyValue } from "../components/values.tsx";
import type { View, Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

/** Shows a new secret as the direct response to its form, so that no address or cookie contains the secret. */
export function shownOnce(v: Visit, o: {
  title: string;
  secret: string;
  label: string;
  back: { href: string; label: string };
  more?: Child;
}): View {
  const t = integrationTexts[v.locale];
  return {
    title: o.title,
    body: [
      <Notice tone="warn">{t.shownOnce}</Notice>,
      <Card title={o.label}>
        <p>
          <CopyValue v={v} value={o.secret} />
        </p>
        {o.more}
      </Card>,
      <div>
        {buttonLink(o.back.href, o.back.label, { tone: "primary" })}
      </div>,
    ],
  };
}
