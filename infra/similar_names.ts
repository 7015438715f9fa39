const MAX_EDITS = 2;
const LEAST_LETTERS = 5;

/** True if the names are equal, or differ by at most two edits and have five letters or more. Ignores case, `-` and `_`. */
export function isNear(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)];
  if (a === b) return true;
  if (Math.min(a.length, b.length) < LEAST_LETTERS || Math.abs(a.length - b.length) > MAX_EDITS) {
    return false;
  }
  return editsBetween(a, b) <= MAX_EDITS;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, "");

/** Levenshtein distance, up to MAX_EDITS. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > MAX_EDITS) return MAX_EDITS + 1;
    row = next;
  }
  return row[b.length] ?? 0;
}
