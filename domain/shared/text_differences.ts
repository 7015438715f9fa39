import { structuredPatch } from "diff";

/** Lines shown around a change. */
const CONTEXT = 3;
/** Texts that differ in more lines are shown as removed and added as a whole: comparing them would take seconds. */
const MAX_EDITS = 4_000;
const MAX_MS = 300;

export const LINE_CHANGES = ["Unchanged", "Added", "Removed"] as const;

export interface ComparedLine {
  change: typeof LINE_CHANGES[number];
  text: string;
}

/** Changed lines with the lines around them. */
export interface DifferencePart {
  /** How many unchanged lines are left out before it. */
  skipped: number;
  lines: ComparedLine[];
}

/** The differences of one text. */
export interface FieldDifferences {
  field: string;
  parts: DifferencePart[];
}

const CHANGES: Record<string, ComparedLine["change"]> = { "+": "Added", "-": "Removed", " ": "Unchanged" };

/** The fields whose texts differ, in the order of `after`, with their changed lines. An absent text is an empty one. */
export const compareFields = (
  before: Record<string, string | null>,
  after: Record<string, string | null>,
): FieldDifferences[] =>
  Object.keys(after)
    .map((field) => ({ field, parts: compareLines(before[field] ?? "", after[field] ?? "") }))
    .filter(({ parts }) => parts.length > 0);

/** The changed lines of two texts with the lines around them; empty if the texts are equal. */
function compareLines(before: string, after: string): DifferencePart[] {
  if (before === after) return [];
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS, timeout: MAX_MS };
  const patch = structuredPatch("", "", before, after, "", "", options);
  if (!patch) return [{ skipped: 0, lines: [...linesOf("Removed", before), ...linesOf("Added", after)] }];
  let shown = 0;
  return patch.hunks.map(({ oldStart, oldLines, lines }) => {
    const skipped = Math.max(0, oldStart - 1 - shown);
    shown = oldStart - 1 + oldLines;
    const marked = lines.filter((line) => !line.startsWith("\\")); // "\ No newline at end of file"
    return {
      skipped,
      lines: marked.map((line) => ({ change: CHANGES[line.charAt(0)] ?? "Unchanged", text: line.slice(1) })),
    };
  });
}

const linesOf = (change: ComparedLine["change"], text: string): ComparedLine[] =>
  text.split("\n").map((line) => ({ change, text: line }));
