import { nextTurn } from "./in_turns.ts";

/** Lines shown around a change. */
const CONTEXT = 3;
/** Maximum number of shown added and removed lines of one text. The time grows with its square: twice as many take 0.2 s. */
export const MAX_EDITS = 1_000;

export const LINE_CHANGES = ["Unchanged", "Added", "Removed"] as const;

export interface ComparedLine {
  change: typeof LINE_CHANGES[number];
  text: string;
}

/** Changed lines with the lines around them. */
export interface DifferencePart {
  /** Number of unchanged lines that are left out before it. */
  skipped: number;
  lines: ComparedLine[];
}

/** The differences of one text. */
export interface FieldDifferences {
  field: string;
  /** True if there are more changed lines than are shown; then there are no parts. */
  isTooDifferent: boolean;
  parts: DifferencePart[];
}

const CHANGES: Record<string, ComparedLine["change"]> = { "+": "Added", "-": "Removed", " ": "Unchanged" };

/**
 * The fields whose texts differ, in the order of `after`, with their changed lines. An absent text is an empty one. Each
 * text is compared in its own turn of the event loop.
 */
export async function compareFields(
  before: Record<string, string | null>,
  after: Record<string, string | null>,
): Promise<FieldDifferences[]> {
  const differences: FieldDifferences[] = [];
  for (const [field, text] of Object.entries(after)) {
    const [one, other] = [before[field] ?? "", text ?? ""];
    if (one === other) continue;
    if (differences.length > 0) await nextTurn();
    const parts = await compareLines(one, other);
    differences.push({ field, isTooDifferent: parts === null, parts: parts ?? [] });
  }
  return differences;
}

/** The changed lines of two texts with the lines around them; null if the texts are too different. */
async function compareLines(before: string, after: string): Promise<DifferencePart[] | null> {
  const { structuredPatch } = await import("diff"); // few instances ever compare texts
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const patch = structuredPatch("", "", before, after, "", "", options);
  if (!patch) return null;
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
