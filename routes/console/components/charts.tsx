import type { Visit } from "../shared/page.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import type { Tone } from "./notice.tsx";
import { number } from "./values.tsx";

/** One coloured part of every bar. */
export interface Series {
  label: string;
  tone: Tone;
  values: number[];
}

const WIDTH = 600;
const HEIGHT = 120;

/** Bars over time, one stack an interval, with the same figures as a table for those who cannot see them. */
export function TimeBars({ v, label, starts, series }: {
  v: Visit;
  label: string;
  /** When each interval begins, ISO 8601. */
  starts: string[];
  series: Series[];
}) {
  const totals = starts.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const highest = Math.max(1, ...totals);
  const step = WIDTH / Math.max(1, starts.length);
  const time = new Intl.DateTimeFormat(FORMAT_TAGS[v.locale], {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: v.timeZone,
  });
  const at = (start: string) => time.format(new Date(start));
  const told = (index: number) =>
    `${at(starts[index] ?? "")}: ` +
    series.map(({ label, values }) => `${label} ${number(v, values[index] ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {totals.map((_, index) => {
          let top = HEIGHT;
          return (
            <g>
              <title>{told(index)}</title>
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
          <span>{starts[0] && at(starts[0])}</span>
          <span>max {number(v, highest)}</span>
          <span>{starts.length > 0 && at(starts[starts.length - 1] ?? "")}</span>
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
            {totals.map((_, index) => (
              <tr>
                <td>{told(index)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** A share of a whole as a bar. `value` and `max` in one unit. */
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
