import { type Browser, chromium } from "playwright-core";

/** Chromium without a user interface comes first: its pages take half the processor time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const folders = [...(Deno.env.get("PATH") ?? "").split(":"), "/usr/bin", "/usr/local/bin"];
const executablePath = folders.flatMap((folder) => NAMES.map((name) => `${folder}/${name}`)).find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/** Whether Chromium is installed on this machine; tests that need it are skipped otherwise. */
export const chromiumInstalled = executablePath !== undefined;

/**
 * Starts the machine's own Chromium, headless, with an empty profile that is removed with it. It ends by `close()` (or
 * `await using`), and by itself when the test process is gone, since it is driven over a pipe of that process.
 * @returns null where none is installed, for `Deno.test({ ignore: browser === null, … })`.
 */
export async function openBrowser(): Promise<Browser | null> {
  if (executablePath === undefined) return null;
  return await chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--disable-quic",
      "--disable-gpu",
      // names of the tests' own making, and nothing else, are found: all of them are this machine
      "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      ...(Deno.uid() === 0 ? ["--no-sandbox"] : []), // Chromium refuses to be root's with one
    ],
  });
}
