// Starts processes with a wrong system clock (libfaketime). The clock can be set while they run. It applies to a process and
// its children. The monotonic clock stays correct.
import { isFile } from "./processes.ts";

const LIBRARY = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
  .map((folder) => `${folder}/faketime/libfaketimeMT.so.1`)
  .find(isFile);

/** Whether libfaketime is installed on this machine; tests that need it are skipped otherwise. */
export const faketimeInstalled = LIBRARY !== undefined;

export interface FakeClock {
  /** Environment variables for a process that uses this clock. */
  env: Record<string, string>;
  /** Sets the clock's offset in seconds; processes notice within a second. */
  set(seconds: number): Promise<void>;
  remove(): Promise<void>;
}

/** A clock that is `seconds` off. */
export async function fakeClock(seconds: number): Promise<FakeClock> {
  const file = await Deno.makeTempFile({ prefix: "faketime-" });
  const set = (seconds: number) => Deno.writeTextFile(file, seconds < 0 ? String(seconds) : `+${seconds}`);
  await set(seconds);
  return {
    env: {
      LD_PRELOAD: LIBRARY ?? "",
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    set,
    remove: () => Deno.remove(file),
  };
}
