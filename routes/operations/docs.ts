import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { problem } from "../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { VERSION } from "../../infra/version.ts";
import { ok, text } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { type OpenApiDocument, openApiDocument } from "../shared/openapi.ts";

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/** The page loads its assets by relative URLs, because a proxy may serve it under another path. */
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Steward API</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><link rel="stylesheet" href="docs/swagger-ui.css"></head>
<body><div id="reference"></div><script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script>
</body></html>`;
const START =
  `SwaggerUIBundle({url:new URL("openapi.json",document.baseURI).href,dom_id:"#reference",deepLinking:true,persistAuthorization:false,
docExpansion:"none",filter:true,tryItOutEnabled:true,validatorUrl:null});`;

const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const ASSETS: Record<string, { contentType: string; read: () => Promise<string> }> = {
  "swagger-ui.css": {
    contentType: "text/css",
    read: () => Deno.readTextFile(join(folder, "swagger-ui.css")),
  },
  "swagger-ui-bundle.js": {
    contentType: "text/javascript",
    read: () => Deno.readTextFile(join(folder, "swagger-ui-bundle.js")),
  },
  "start.js": { contentType: "text/javascript", read: () => Promise.resolve(START) },
};

const documents = new WeakMap<ServicePlatform, OpenApiDocument>();

/** The OpenAPI document of a service, built at the first request. */
function documentOf(platform: ServicePlatform, endpoints: readonly Endpoint[]): OpenApiDocument {
  let document = documents.get(platform);
  if (!document) {
    document = openApiDocument(endpoints, {
      baseUrl: platform.baseUrl(),
      version: VERSION,
      eventTypes: platform.eventTypes,
    });
    documents.set(platform, document);
  }
  return document;
}

/** `/openapi.json` and the interactive reference `/docs`, which loads nothing from other origins. */
export const docsRoutes = [
  endpoint({
    method: "get",
    path: "/openapi.json",
    area: "Operations",
    id: "openApi",
    summary: "Read the OpenAPI 3.1 document of this service",
    access: anyone,
    skipsConnectionWait: true,
    answers: { 200: { description: "The document", schema: z.looseObject({ openapi: z.string() }) } },
    problems: [],
    run: ({ platform, endpoints }) => ok(documentOf(platform, endpoints)),
  }),
  endpoint({
    method: "get",
    path: "/docs",
    area: "Operations",
    id: "docs",
    summary: "Interactive reference",
    access: anyone,
    skipsConnectionWait: true,
    answers: { 200: { description: "The page", contentType: "text/html" } },
    problems: [],
    run: () => text(PAGE, "text/html; charset=utf-8", { "content-security-policy": CSP }),
  }),
  endpoint({
    method: "get",
    path: "/docs/{asset}",
    area: "Operations",
    id: "docsAsset",
    summary: "Scripts and styles of the reference",
    access: anyone,
    skipsConnectionWait: true,
    params: z.object({ asset: z.string() }),
    answers: { 200: { description: "The asset", contentType: "text/javascript", alsoAs: ["text/css"] } },
    problems: ["ROUTE_NOT_FOUND"],
    async run({ params }) {
      const asset = Object.hasOwn(ASSETS, params.asset) ? ASSETS[params.asset] : undefined;
      if (!asset) {
        throw problem("ROUTE_NOT_FOUND", `No asset of the reference is called "${params.asset}".`);
      }
      return text(await asset.read(), asset.contentType, { "cache-control": "public, max-age=3600" });
    },
  }),
] as const;
