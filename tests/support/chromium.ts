import { type Browser, chromium } from "playwright-core";
import { findProgram } from "./processes.ts";
import { countChromium } from "./processor_time.ts";

/** The headless shell comes first, because it uses half the processor time. */
const executablePath = findProgram(
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
);

/** Whether Chromium is installed on this machine; tests that need it are skipped otherwise. */
export const chromiumInstalled = executablePath !== undefined;

/**
 * Starts the installed Chromium, headless, with an empty profile. It stops on `close()` (or `await using`), or when the
 * test process ends, because it is controlled over a pipe of that process.
 * @returns null if none is installed
 */
export async function openBrowser(): Promise<Browser | null> {
  if (executablePath === undefined) return null;
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--disable-quic",
      "--disable-gpu",
      // resolves names below .test to this machine, and no other names
      "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      ...(Deno.uid() === 0 ? ["--no-sandbox"] : []), // with a sandbox, Chromium does not run as root
    ],
  });
  const close = browser.close.bind(browser);
  browser.close = async (o) => {
    countChromium();
    await close(o);
  };
  return browser;
}
