import { createHash } from "node:crypto";
import type { Config } from "../../infra/config.ts";
import { VERSION } from "../../infra/version.ts";
import type { Mount } from "../app.ts";
import { Cors } from "../shared/cors.ts";
import { readComponents } from "./components.ts";

const PATH = /^\/components\/([\w.-]+)\/([a-z-]+\.js)$/;

/** A weak tag, because the answer may be compressed. */
const tagOf = (script: string): string =>
  `W/"${createHash("sha256").update(script).digest("hex").slice(0, 16)}"`;

/**
 * The web components at `/components/{version}/{name}.js`, for pages of other origins too. Any version is answered with the
 * current files, so that pages work before and after an upgrade. Browsers keep them for long only under their own version.
 */
export function componentsMount({ CORS_ORIGINS }: Pick<Config, "CORS_ORIGINS">): Mount {
  const cors = CORS_ORIGINS ? new Cors(CORS_ORIGINS) : null;
  const scripts = readComponents();
  const tags = new Map([...scripts].map(([name, script]) => [name, tagOf(script)]));
  return {
    path: "/components",
    serve(request) {
      const [, version, name = ""] = PATH.exec(new URL(request.url).pathname) ?? [];
      const script = scripts.get(name);
      if (request.method !== "GET" || script === undefined) return Promise.resolve(null);
      const etag = tags.get(name) ?? "";
      const headers = {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": version === VERSION ? "public, max-age=31536000, immutable" : "public, max-age=300",
        "cross-origin-resource-policy": "cross-origin",
        etag,
        ...cors?.headers(request),
      };
      const isKept = request.headers.get("if-none-match")?.includes(etag);
      return Promise.resolve(new Response(isKept ? null : script, { status: isKept ? 304 : 200, headers }));
    },
  };
}
