import type { ServicePlatform } from "../../domain/platform.ts";
import type { Mount } from "../app.ts";

/** Leads a browser that opens the service's own address to the console. Programs get the API's answer, a 404. */
export const rootPage = (p: ServicePlatform): Mount => ({
  path: "/",
  serve(request) {
    const { pathname } = new URL(request.url);
    const isPage = request.headers.get("accept")?.includes("text/html") ?? false;
    if (pathname !== "/" || !isPage || !["GET", "HEAD"].includes(request.method)) {
      return Promise.resolve(null);
    }
    const location = `${new URL(p.baseUrl()).pathname.replace(/\/$/, "")}/console/`;
    return Promise.resolve(new Response(null, { status: 302, headers: { location, vary: "accept" } }));
  },
});
