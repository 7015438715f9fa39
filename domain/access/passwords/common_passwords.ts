import { join } from "node:path";

const FILE = join(import.meta.dirname ?? ".", "common_passwords.txt.gz");
/** A common password with fewer characters than these around it is still common. */
const MIN_AROUND = 8;
/** Letters that digits and symbols often stand for. */
const LOOKALIKES: Record<string, string> = {
  "@": "a",
  "4": "a",
  "3": "e",
  "1": "i",
  "0": "o",
  "$": "s",
  "5": "s",
};

let list: Promise<ReadonlySet<string>> | null = null;

/** The list takes about 2 MB of memory, and is read when the first password is chosen. */
async function readList(): Promise<ReadonlySet<string>> {
  const packed = new Blob([await Deno.readFile(FILE)]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  return new Set(text.trimEnd().split("\n"));
}

/**
 * Returns true if a password is a common one in any letter case, also if it is repeated, has digits or symbols around it, or
 * has symbols for letters.
 */
export async function isCommon(password: string): Promise<boolean> {
  list ??= readList();
  const common = await list;
  const whole = password.toLowerCase();
  const forms = [whole, repeatedPart(whole)];
  const core = whole.replace(/^[^\p{L}]+/u, "").replace(/[^\p{L}]+$/u, "");
  const around = whole.replace(core, "");
  if ([...around].length < MIN_AROUND || common.has(around)) forms.push(core, repeatedPart(core));
  return forms.some((form) => common.has(form) || common.has(plainLetters(form)));
}

/** The shortest text whose repetition is `text`; `text` itself if it repeats nothing. */
const repeatedPart = (text: string): string => text.slice(0, (text + text).indexOf(text, 1));

const plainLetters = (text: string): string =>
  text.replaceAll(/[@4310$5]/g, (char) => LOOKALIKES[char] ?? char);
