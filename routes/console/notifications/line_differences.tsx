import type { DifferencePart } from "../../../domain/shared/text_differences.ts";
import type { Visit } from "../shared/page.ts";
import { versionTexts } from "./version_texts.ts";

/** A unified view of the differences. Screen readers hear "added" and "removed" before each changed line. */
export function LineDifferences({ v, label, parts }: { v: Visit; label: string; parts: DifferencePart[] }) {
  const t = versionTexts[v.locale];
  const line = ({ change, text }: DifferencePart["lines"][number]) => {
    if (change === "Unchanged") return <span>{`  ${text}\n`}</span>;
    const said = <span class="sr-only">{change === "Added" ? t.added : t.removed}:</span>;
    return change === "Added" ? <ins>{said}{`+ ${text}\n`}</ins> : <del>{said}{`- ${text}\n`}</del>;
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
