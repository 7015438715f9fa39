import type { Log } from "../../infra/log.ts";
import type { Handle } from "../app.ts";

/** A part with its own pages under one path. It is called before the API; null passes the request to the API. */
export interface Mount {
  /** Its path, for example `/console`. It gets requests to this path and all paths below. */
  path: string;
  serve(request: Request, ip: string | null): Promise<Response | null>;
}

/** Calls the mounted parts, then the API. */
export function withMounts(mounts: readonly Mount[], api: Handle, log: Log): Handle {
  if (mounts.length === 0) return api;
  return async (request, ip) => {
    const { url } = request;
    const path = url.slice(url.indexOf("/", url.indexOf("//") + 2));
    for (const mount of mounts) {
      if (!isBelow(path, mount.path)) continue;
      try {
        const response = await mount.serve(request, ip);
        if (response) return response;
      } catch (error) {
        log.error("a mounted part failed", { path: mount.path, error });
        return new Response("Internal Server Error", { status: 500 });
      }
    }
    return await api(request, ip);
  };
}

const isBelow = (path: string, base: string): boolean =>
  path.startsWith(base) && ["", "/", "?"].includes(path.charAt(base.length));
