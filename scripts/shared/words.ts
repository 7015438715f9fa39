/** 1: the answer is no, or the service's rules refuse; the others follow sysexits. */
export const EXIT = { refused: 1, usage: 64, noInput: 66, unavailable: 69 } as const;

/**
 * The words a script without options was called with. Ends it with `help` where that is asked for, and as wrong usage
 * where `mistakeIn` tells what does not fit.
 */
export function readWords(help: string, mistakeIn: (words: string[]) => string | null): string[] {
  const words = Deno.args;
  if (words.includes("--help") || words.includes("-h")) {
    console.log(help);
    Deno.exit(0);
  }
  const mistake = mistakeIn(words);
  if (mistake === null) return words;
  console.error(`${mistake}\n\n${help}`);
  Deno.exit(EXIT.usage);
}

/** The mistake of giving words to a script that takes none. */
export const takesNone = ([word]: string[]): string | null =>
  word === undefined ? null : `"${word}" is not understood: it takes no arguments`;
