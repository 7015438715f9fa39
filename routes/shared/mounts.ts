import type { Log } from "../../infra/log.ts";
import type { Handle } from "../app.ts";

/** Something that answers for itself under one path, before the API is asked; null leaves the request to the API. */
export interface Mount {
  /** Where it is mounted, such as `/console`; it is asked for this path and all below it. */
  path: string;
  serve(request: Request, ip: string | null): Promise<Response | null>;
}

/** The service as it is reached from outside: what is mounted, then the API. */
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
