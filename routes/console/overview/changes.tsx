import { AuditSentence } from "../components/audit_sentence.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { ScopeChip } from "../components/scope.tsx";
import { Time } from "../components/values.tsx";
import { localOf } from "../components/date_inputs.ts";
import { type Page, searchOf } from "../shared/api.ts";
import type { Row } from "../shared/operations.ts";
import { may, type Visit } from "../shared/page.ts";
import { overviewTexts } from "./texts.ts";

const SHOWN = 8;
const WINDOW_MS = { hour: 3_600_000, day: 86_400_000 };
type Window = keyof typeof WINDOW_MS;

export interface RecentChanges {
  page: Page<Row<"readAuditLog">>;
  /** Changes are counted from this time on. */
  since: string;
}

/** The latest changes of the window; null if the viewer may not read the audit log. */
export async function readChanges(v: Visit, window: Window): Promise<RecentChanges | null> {
  if (!may(v.viewer, "read:users")) return null;
  const start = v.now.getTime() - WINDOW_MS[window];
  const since = new Date(start - start % 60_000).toISOString(); // to the minute, as the link can say it
  const page = await v.api.call("readAuditLog", { query: { fromDate: since, pageSize: SHOWN } });
  return { page, since };
}

/** The changes of the last hour or day, with their actors. */
export function ChangesCard({ v, changes, window }: { v: Visit; changes: RecentChanges; window: Window }) {
  const t = overviewTexts[v.locale];
  const { page: { items, totalCount }, since } = changes;
  const all = `audit${searchOf({ fromDate: localOf(v, since) })}`;
  return (
    <Card
      title={window === "hour" ? t.changesOfHour : t.changesOfDay}
      scope={<ScopeChip v={v} of="audit" />}
      actions={totalCount > 0 && <a href={all}>{t.allChanges(totalCount)}</a>}
    >
      {items.length === 0
        ? <Empty icon="audit" title={t.noChanges} />
        : (
          <ul class="changes" aria-label={window === "hour" ? t.changesOfHour : t.changesOfDay}>
            {items.map((entry) => (
              <li>
                <AuditSentence v={v} entry={entry} />
                <span class="muted nowrap">
                  <Time v={v} at={entry.at} />
                </span>
              </li>
            ))}
          </ul>
        )}
    </Card>
  );
}
