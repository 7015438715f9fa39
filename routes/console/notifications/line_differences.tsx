import { structuredPatch } from "diff";
import type { Visit } from "../shared/page.ts";
import { versionTexts } from "./version_texts.ts";

/** Lines shown around a change. */
const CONTEXT = 3;
/** Texts that differ in more lines are shown as removed and added as a whole: comparing them would take seconds. */
const MAX_EDITS = 4_000;

type Line = { mark: "+" | "-" | " "; text: string };
type Part = { skipped: number; lines: Line[] };

/** The changed lines of two texts with the lines around them; empty if the texts are equal. */
export function lineDifferences(before: string, after: string): Part[] {
  if (before === after) return [];
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const patch = structuredPatch("", "", before, after, "", "", options);
  if (!patch) return [{ skipped: 0, lines: [...linesOf("-", before), ...linesOf("+", after)] }];
  let shown = 0;
  return patch.hunks.map(({ oldStart, oldLines, lines }) => {
    const skipped = Math.max(0, oldStart - 1 - shown);
    shown = oldStart - 1 + oldLines;
    const marked = lines.filter((line) => !line.startsWith("\\")); // "\ No newline at end of file"
    return {
      skipped,
      lines: marked.map((line) => ({ mark: line.charAt(0) as Line["mark"], text: line.slice(1) })),
    };
  });
}

const linesOf = (mark: Line["mark"], text: string): Line[] =>
  text.split("\n").map((line) => ({ mark, text: line }));

/** A unified view of the differences. Screen readers hear "added" and "removed" before each changed line. */
export function LineDifferences({ v, label, parts }: { v: Visit; label: string; parts: Part[] }) {
  const t = versionTexts[v.locale];
  const line = ({ mark, text }: Line) => {
    if (mark === " ") return <span>{`  ${text}\n`}</span>;
    const said = <span class="sr-only">{mark === "+" ? t.added : t.removed}:</span>;
    return mark === "+" ? <ins>{said}{`+ ${text}\n`}</ins> : <del>{said}{`- ${text}\n`}</del>;
  };
  return (
    <pre class="code-block line-diff" tabindex={0} role="region" aria-label={label}>
      {parts.map(({ skipped, lines }) => (
        <>
          {skipped > 0 && <span class="muted">{`… ${t.unchangedLines(skipped)}\n`}</span>}
          {lines.map(line)}
        </>
      ))}
    </pre>
  );
}
