import type { Child } from "hono/jsx";
import { formatter } from "../../../domain/shared/formatters.ts";
import { type Query, searchOf } from "../shared/api.ts";
import { commonTexts, timelineTexts } from "../shared/common_texts.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import { jsonIn, type Visit } from "../shared/page.ts";
import { Icon } from "./icons.tsx";
import type { Tone } from "./notice.tsx";

/** A short coloured label. The text alone must carry the meaning. */
export const Badge = ({ tone, children }: { tone: Tone; children?: Child }) => (
  <span class={`badge tone-${tone}`}>{children}</span>
);

/** Active or inactive, as a coloured label. */
export const ActiveBadge = ({ v, isActive }: { v: Pick<Visit, "locale">; isActive: boolean }) => (
  <Badge tone={isActive ? "ok" : "idle"}>{commonTexts[v.locale][isActive ? "active" : "inactive"]}</Badge>
);

/** An instant relative to now. The title shows the exact time. */
export function Time({ v, at }: { v: Visit; at: string | null | undefined }) {
  if (!at) return <span class="muted">–</span>;
  return <time datetime={at} title={exactTime(v, at)} data-time>{relativeTime(v, at)}</time>;
}

/** The local time of an instant, to the millisecond. */
export const timeOfDay = (v: Pick<Visit, "timeZone">, at: string): string =>
  Temporal.Instant.from(at).toZonedDateTimeISO(v.timeZone).toPlainTime().toString({
    smallestUnit: "millisecond",
  });

/** An instant as date and time in the viewer's time zone. */
export function exactTime(v: Pick<Visit, "locale" | "timeZone">, at: string): string {
  return formatter(Intl.DateTimeFormat, FORMAT_TAGS[v.locale], {
    dateStyle: "medium",
    timeStyle: "long",
    timeZone: v.timeZone,
  }).format(new Date(at));
}

/** "10:34" in the viewer's time zone; with the date if it is another day. */
export function clockTime(v: Pick<Visit, "locale" | "timeZone" | "now">, at: string): string {
  const { timeZone } = v;
  const day = formatter(Intl.DateTimeFormat, "en", { dateStyle: "short", timeZone });
  const isToday = day.format(new Date(at)) === day.format(v.now);
  return formatter(Intl.DateTimeFormat, FORMAT_TAGS[v.locale], {
    timeStyle: "short",
    timeZone,
    ...isToday ? {} : { dateStyle: "medium" },
  }).format(new Date(at));
}

/** The day of an instant in the viewer's time zone. */
export const exactDay = (v: Pick<Visit, "locale" | "timeZone">, at: string): string =>
  formatter(Intl.DateTimeFormat, FORMAT_TAGS[v.locale], { dateStyle: "medium", timeZone: v.timeZone }).format(
    new Date(at),
  );

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** "3 minutes ago", "in 2 days". */
function relativeTime(v: Pick<Visit, "locale" | "now">, at: string): string {
  const seconds = Math.round((new Date(at).getTime() - v.now.getTime()) / 1000);
  if (Math.abs(seconds) < 2) return commonTexts[v.locale].now;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= 0.985 * size) ?? ["second", 1];
  return formatter(Intl.RelativeTimeFormat, FORMAT_TAGS[v.locale], { numeric: "auto" })
    .format(Math.round(seconds / size), unit);
}

/** Formats a number for the viewer's language. */
export const number = (v: Pick<Visit, "locale">, value: number): string =>
  formatter(Intl.NumberFormat, FORMAT_TAGS[v.locale], { maximumFractionDigits: 1 }).format(value);

/** "840 ms", "3.2 s", "4 min 10 s". */
export function duration(v: Pick<Visit, "locale">, ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 999.95) return `${number(v, Math.round(ms * 10) / 10)} ms`;
  if (ms < 59_950) return `${number(v, ms / 1_000)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${number(v, hours / 24)} d`;
}

/** "12.4 MiB". */
export function bytes(v: Pick<Visit, "locale">, size: number | null | undefined): string {
  if (size === null || size === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(size) / 10));
  if (size / 1024 ** step >= 1_023.95 && step < units.length - 1) step++;
  return `${number(v, size / 1024 ** step)} ${units[step]}`;
}

/** A value with a copy button. `shown` is a short form to display; the full value is copied. */
export function CopyValue(
  { v, value, shown }: { v: Visit; value: string | null | undefined; shown?: string },
) {
  if (!value) return <span class="muted">–</span>;
  const t = commonTexts[v.locale];
  return (
    <span class="copy-value">
      <code title={value}>{shown ?? value}</code>
      <button type="button" class="copy" data-copy={value} data-copied={t.copied} title={t.copy}>
        <Icon name="copy" />
        <span class="sr-only">{`${t.copy} ${shown ?? value}`}</span>
      </button>
    </span>
  );
}

/** The last 8 characters of an id. */
export const shortId = (id: string): string => `…${id.slice(-8)}`;

/** A name and its value. Empty: nothing is shown. */
export type Fact = [name: string, value: Child] | false | null | undefined | "";

/** A list of names and values. */
export const factList = (facts: Fact[]) => (
  <dl class="facts">
    {facts.map((fact) =>
      fact && (
        <div>
          <dt>{fact[0]}</dt>
          <dd>{fact[1] ?? <span class="muted">–</span>}</dd>
        </div>
      )
    )}
  </dl>
);

/**
 * A list with an item for each of some things. Screen readers read `label`.
 * @param look class of the list
 * @param empty text instead of a list without items
 */
export const bulletList = <T,>(
  things: readonly T[],
  item: (thing: T) => Child,
  { look, label, empty }: { look?: string; label?: string | undefined; empty?: string | undefined } = {},
) =>
  things.length === 0 && empty !== undefined
    ? <p class="muted">{empty}</p>
    : (
      <ul class={look} aria-label={label}>
        {things.map((thing) => <li>{item(thing)}</li>)}
      </ul>
    );

/** Codes, such as permissions, as tags. Screen readers read `label`. */
export const Codes = ({ codes, ...o }: { codes: string[]; label?: string; empty?: string }) =>
  bulletList(codes, (code) => <code>{code}</code>, { look: "row tags", ...o });

/** A text in its own lines, such as code. Screen readers read `label`. */
export const CodeBlock = ({ label, children }: { label: string; children?: Child }) => (
  <pre class="code-block" tabindex={0} role="region" aria-label={label}>{children}</pre>
);

/** A JSON text, indented if it can be parsed. */
export function JsonText({ value, label }: { value: string; label: string }) {
  const parsed = jsonIn(value);
  const shown = parsed === undefined ? value : JSON.stringify(parsed, null, 2);
  return <CodeBlock label={label}>{shown}</CodeBlock>;
}

/** A share between 0 and 1 as "12.5%". */
export const percent = (v: Pick<Visit, "locale">, share: number): string =>
  formatter(Intl.NumberFormat, FORMAT_TAGS[v.locale], { style: "percent", maximumFractionDigits: 1 }).format(
    share,
  );

/** The fact with the link to the timeline of a thing and, if it is known, its trace. */
export function timelineFact(v: Visit, key: Query, traceId?: string | null): [name: string, value: Child] {
  const t = timelineTexts[v.locale];
  return [
    t.title,
    [
      <a href={`timeline${searchOf(key)}`}>{t.show}</a>,
      traceId && (
        <span class="sub">
          {t.trace} <CopyValue v={v} value={traceId} shown={traceId.slice(0, 8)} />
        </span>
      ),
    ],
  ];
}
