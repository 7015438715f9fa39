import { formatter } from "../../../domain/shared/formatters.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import { defineTexts, FORMAT_TAGS } from "../shared/languages.ts";
import type { Tone } from "./notice.tsx";
import { number } from "./values.tsx";

/** One series of a stacked bar chart. */
export interface Series {
  label: string;
  tone: Tone;
  values: number[];
}

const WIDTH = 600;
const HEIGHT = 120;

const texts = defineTexts({
  succeeded: ["Succeeded", "Concluídas"],
  failed: ["Failed", "Falharam"],
  abandoned: ["Interrupted", "Interrompidas"],
});

/** The attempts that ended in each interval, by their end. */
export function AttemptBars({ v, label, intervals }: {
  v: Visit;
  label: string;
  /** `start` in ISO 8601. */
  intervals: { start: string; succeeded: number; failed: number; abandoned: number }[];
}) {
  const time = formatter(Intl.DateTimeFormat, FORMAT_TAGS[v.locale], {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: v.timeZone,
  });
  const names = intervals.map(({ start }) => time.format(new Date(start)));
  const series = ([["succeeded", "ok"], ["failed", "bad"], ["abandoned", "warn"]] as const)
    .map(([end, tone]) => ({ label: texts[v.locale][end], tone, values: intervals.map((each) => each[end]) }))
    .filter(({ tone, values }) => tone !== "warn" || values.some((count) => count > 0));
  return <Bars v={v} label={label} names={names} series={series} show={(value) => number(v, value)} />;
}

/** Stacked bars, one per name. A hidden table has the values for screen readers. */
export function Bars({ v, label, names, series, show }: {
  v: Pick<Visit, "locale">;
  label: string;
  names: string[];
  series: Series[];
  show: (value: number) => string;
}) {
  const totals = names.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const highest = Math.max(1, ...totals);
  const step = WIDTH / Math.max(1, names.length);
  const descriptions = names.map((name, index) =>
    `${name}: ` + series.map(({ label, values }) => `${label} ${show(values[index] ?? 0)}`).join(", ")
  );
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {totals.map((_, index) => {
          let top = HEIGHT;
          return (
            <g>
              <title>{descriptions[index]}</title>
              <rect class="chart-hit" x={index * step} y={0} width={step} height={HEIGHT} />
              {series.map(({ tone, values }) => {
                const height = ((values[index] ?? 0) / highest) * (HEIGHT - 4);
                top -= height;
                return height > 0 && (
                  <rect
                    class={`bar tone-${tone}`}
                    x={(index * step + step * 0.12).toFixed(2)}
                    y={top.toFixed(2)}
                    width={(step * 0.76).toFixed(2)}
                    height={Math.max(1, height).toFixed(2)}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span class="row between chart-ends muted">
          <span>{names[0]}</span>
          <span>{commonTexts[v.locale].most} {show(highest)}</span>
          <span>{names.length > 1 && names.at(-1)}</span>
        </span>
        <span class="row">
          {series.map(({ label, tone }) => (
            <span class="legend">
              <span class={`dot tone-${tone}`}></span>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div class="sr-only">
        <table>
          <caption>{label}</caption>
          <tbody>
            {descriptions.map((description) => (
              <tr>
                <td>{description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** A bar that shows `value` as a share of `max`. Both have the same unit. */
export function Meter(
  { label, value, max, tone = "info" }: { label: string; value: number; max: number; tone?: Tone },
) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="meter-track" width="100" height="6" />
      <rect class={`bar tone-${tone}`} width={(share * 100).toFixed(1)} height="6" />
    </svg>
  );
}

/** A line of values over time. Null: nothing was measured, so the line has a gap. The text beside it must say the scale. */
export function Sparkline({ label, values }: { label: string; values: (number | null)[] }) {
  const highest = Math.max(1, ...values.map((value) => value ?? 0));
  const step = values.length > 1 ? WIDTH / (values.length - 1) : WIDTH;
  const runs = values.reduce<string[][]>((all, value, index) => {
    if (value === null) return [...all, []];
    const point = `${(index * step).toFixed(1)},${
      (SPARK_HEIGHT - 3 - value / highest * (SPARK_HEIGHT - 6)).toFixed(1)
    }`;
    all.at(-1)?.push(point);
    return all;
  }, [[]]);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${SPARK_HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {runs.filter((points) => points.length > 0).map((points) => {
        const [first = ""] = points;
        return <polyline points={points.length === 1 ? `${first} ${first}` : points.join(" ")} />;
      })}
    </svg>
  );
}

const SPARK_HEIGHT = 40;
