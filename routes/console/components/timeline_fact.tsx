import type { Child } from "hono/jsx";
import { CopyValue } from "./values.tsx";
import { type Query, searchOf } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";
import { timelineTexts } from "../shared/common_texts.ts";

/** The fact with the link to the timeline of a thing and, if it is known, its trace. */
export function timelineFact(v: Visit, key: Query, traceId?: string | null): [name: string, value: Child] {
  const t = timelineTexts[v.locale];
  return [
    t.title,
    <>
      <a href={`timeline${searchOf(key)}`}>{t.show}</a>
      {traceId && (
        <span class="sub">
          {t.trace} <CopyValue v={v} value={traceId} shown={traceId.slice(0, 8)} />
        </span>
      )}
    </>,
  ];
}
