import { loadLater } from "../../infra/load_later.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { Mount } from "../app.ts";
import { basePath } from "../shared/answer.ts";
import type { createConsole } from "./console.tsx";

/** The console. Its modules are loaded when they are first needed, because they take a fifth of the start. */
export function consoleMount(
  ...needed: Parameters<typeof createConsole>
): Mount & { load(): ReturnType<typeof createConsole> } {
  let loaded: ReturnType<typeof createConsole> | undefined;
  const open = async () => {
    const { createConsole } = await loadLater<typeof import("./console.tsx")>(import.meta, "./console.tsx");
    return await createConsole(...needed);
  };
  const load = () =>
    loaded ??= open().catch((error) => {
      loaded = undefined; // the next request tries again
      throw error;
    });
  return { path: "/console", load, serve: async (request, ip) => await (await load()).serve(request, ip) };
}

/** Leads a browser that opens the service's own address to the console. Programs get the API's answer, a 404. */
export const rootPage = (p: ServicePlatform): Mount => ({
  path: "/",
  serve(request) {
    const { pathname } = new URL(request.url);
    const isPage = request.headers.get("accept")?.includes("text/html") ?? false;
    if (pathname !== "/" || !isPage || !["GET", "HEAD"].includes(request.method)) {
      return Promise.resolve(null);
    }
    const location = `${basePath(p.baseUrl())}/console/`;
    return Promise.resolve(new Response(null, { status: 302, headers: { location, vary: "accept" } }));
  },
});
