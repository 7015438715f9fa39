/** Exit codes. 1: the answer is no, or the service's rules refuse. The others follow sysexits. */
export const EXIT = { refused: 1, usage: 64, noInput: 66, unavailable: 69, interrupted: 130 } as const;

/**
 * Returns the arguments of a script without options. With --help, prints `help` and exits. If `check` returns an error
 * message, prints it with `help` and exits with code 64.
 */
export function readPlainArguments(help: string, check: (args: string[]) => string | null): string[] {
  const args = Deno.args;
  if (args.includes("--help") || args.includes("-h")) {
    console.log(help);
    Deno.exit(0);
  }
  const mistake = check(args);
  if (mistake === null) return args;
  console.error(`${mistake}\n\n${help}`);
  Deno.exit(EXIT.usage);
}

/** The error message if a script without arguments gets one; else null. */
export const expectNone = ([first]: string[]): string | null =>
  first === undefined ? null : `unknown argument "${first}": the script takes no arguments`;
