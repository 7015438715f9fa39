import type { Mount } from "../app.ts";
import type { createConsole } from "./console.tsx";

/** The console. Its modules are loaded when they are first needed, because they take a fifth of the start. */
export function consoleMount(
  ...needed: Parameters<typeof createConsole>
): Mount & { load(): ReturnType<typeof createConsole> } {
  let loaded: ReturnType<typeof createConsole> | undefined;
  const open = async () => await (await import("./console.tsx")).createConsole(...needed);
  const load = () =>
    loaded ??= open().catch((error) => {
      loaded = undefined; // the next request tries again
      throw error;
    });
  return { path: "/console", load, serve: async (request, ip) => await (await load()).serve(request, ip) };
}
