/** A started Deno process. */
export interface ChildProcess {
  /** The text that the first group of `ready` matched in its output. */
  found: string;
  pid: number;
  /** Ends it gracefully unless it has ended already. */
  stop(): Promise<void>;
}

/** Runs `deno run -A` with the given arguments; resolves when the output matches `ready`. Throws if it ends before. */
export async function startDeno(
  args: string[],
  env: Record<string, string>,
  ready: RegExp,
): Promise<ChildProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let ended = false;
  child.status.then(() => ended = true);
  const { promise: found, resolve, reject } = Promise.withResolvers<string>();
  let output = "";
  child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(text) {
        if (output.length < 10_000) output += text;
        const match = ready.exec(output)?.[1];
        if (match) resolve(match);
      },
      close: () => reject(new Error(`${args[0]} ended before it was ready: ${output}`)),
    }),
  );
  return {
    found: await found,
    pid: child.pid,
    async stop() {
      if (ended) return;
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
