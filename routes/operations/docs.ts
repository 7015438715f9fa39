import { createHash } from "node:crypto";
import { z } from "zod";
import type { ServicePlatform } from "../../domain/platform.ts";
import { invalid, problem } from "../../domain/problems/problem.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { loadLater } from "../../infra/load_later.ts";
import { VERSION } from "../../infra/version.ts";
import { type Answer, ok, text } from "../shared/answer.ts";
import { type Endpoint, endpointsIn } from "../shared/endpoint.ts";
import type { OpenApiDocument } from "../shared/openapi_document.ts";
import { OperationView } from "./docs/operation_view.tsx";
import { placedOperations, ReferencePage } from "./docs/reference_page.tsx";
import { servicePage } from "./service_page.tsx";

const endpoint = endpointsIn("Operations");

const own = (name: string) => Deno.readTextFileSync(new URL(`docs/${name}`, import.meta.url));
const ASSETS: Record<string, { contentType: string; text: string }> = {
  "docs.css": { contentType: "text/css; charset=utf-8", text: own("docs.css") },
  "docs.js": { contentType: "text/javascript; charset=utf-8", text: own("docs.js") },
};
const version = createHash("sha256").update(Object.values(ASSETS).map((asset) => asset.text).join("")).digest(
  "hex",
)
  .slice(0, 12);
/** The address of an asset relative to `/`. Browsers may keep it, because it has a version. */
export const docsAsset = (name: keyof typeof ASSETS): string => `docs/${name}?v=${version}`;

/** The document and the page, which are computed once for a service. */
interface Reference {
  document: OpenApiDocument;
  page?: Promise<Answer>;
}
const references = new WeakMap<ServicePlatform, Reference>();

async function referenceOf(platform: ServicePlatform, endpoints: readonly Endpoint[]): Promise<Reference> {
  let reference = references.get(platform);
  if (!reference) {
    const { eventTypes } = platform;
    const { openApiDocument } = await loadLater<typeof import("../shared/openapi.ts")>(
      import.meta,
      "../shared/openapi.ts",
    );
    const document = openApiDocument(endpoints, {
      baseUrl: platform.baseUrl(),
      version: VERSION,
      eventTypes,
    });
    reference = references.get(platform) ?? { document };
    references.set(platform, reference);
  }
  return reference;
}

/** `/openapi.json` and the interactive reference `/docs`, which loads nothing from other origins. */
export const docsRoutes = [
  endpoint("GET /openapi.json", {
    id: "openApi",
    summary: "Read the OpenAPI 3.1 document of this service, or of some of its areas",
    access: anyone,
    service: "essential",
    query: z.object({
      area: z.union([z.string().transform((name) => [name]), z.array(z.string())]).optional().meta({
        type: "array",
        items: { type: "string" },
        description: "Only the operations with these tags, and what they refer to",
      }),
    }),
    answers: { 200: { description: "The document", schema: z.looseObject({ openapi: z.string() }) } },
    async run({ platform, endpoints, query: { area } }) {
      const { document } = await referenceOf(platform, endpoints);
      if (!area) return ok(document);
      const names = document.tags.map(({ name }) => name);
      if (!area.every((name) => names.includes(name))) {
        throw invalid({ area: [`expected some of ${names.join(", ")}`] });
      }
      return ok(documentOfAreas(document, new Set(area)));
    },
  }),
  endpoint("GET /docs", {
    id: "docs",
    summary: "Interactive reference",
    access: anyone,
    service: "essential",
    answers: { 200: { description: "The page", contentType: "text/html" } },
    async run({ platform, endpoints }) {
      const reference = await referenceOf(platform, endpoints);
      return await (reference.page ??= servicePage({
        title: "API reference",
        root: "",
        styles: [docsAsset("docs.css")],
        scripts: [docsAsset("docs.js")],
        body: ReferencePage({ document: reference.document }),
      }));
    },
  }),
  endpoint("GET /docs/operations/{id}", {
    id: "docsOperation",
    summary: "One operation of the reference, as a part of its page",
    access: anyone,
    service: "essential",
    params: z.object({ id: z.string() }),
    answers: { 200: { description: "A part of the page", contentType: "text/html" } },
    problems: ["ROUTE_NOT_FOUND"],
    async run({ platform, endpoints, params: { id } }) {
      const { document } = await referenceOf(platform, endpoints);
      const placed = placedOperations(document).find(({ operation }) => operation.operationId === id);
      if (!placed) throw problem("ROUTE_NOT_FOUND", `No operation has the id "${id}".`);
      return text(await String(await OperationView({ document, placed })), "text/html; charset=utf-8");
    },
  }),
  endpoint("GET /docs/{asset}", {
    id: "docsAsset",
    summary: "Scripts and styles of the reference",
    access: anyone,
    service: "essential",
    params: z.object({ asset: z.string() }),
    answers: { 200: { description: "The asset", contentType: "text/javascript", alsoAs: ["text/css"] } },
    problems: ["ROUTE_NOT_FOUND"],
    run({ params }) {
      const asset = Object.hasOwn(ASSETS, params.asset) ? ASSETS[params.asset] : undefined;
      if (!asset) {
        throw problem("ROUTE_NOT_FOUND", `No asset of the reference is called "${params.asset}".`);
      }
      return text(asset.text, asset.contentType, { "cache-control": "public, max-age=3600" });
    },
  }),
] as const;

const COMPONENT = /"\$ref":"#\/components\/([^/"]+)\/([^"]+)"/g;
/** Security schemes are named without a reference, and apply to every area. */
const ALWAYS = ["securitySchemes"];

/** The part of `document` for the areas with these names: their operations and webhooks, and the components these refer to. */
function documentOfAreas(document: OpenApiDocument, areas: ReadonlySet<string>): OpenApiDocument {
  const isOf = ({ tags }: { tags: string[] }) => tags.some((tag) => areas.has(tag));
  const paths = Object.entries(document.paths)
    .map(([path, operations]) =>
      [path, Object.entries(operations).filter(([, operation]) => isOf(operation))] as const
    )
    .filter(([, operations]) => operations.length > 0)
    .map(([path, operations]) => [path, Object.fromEntries(operations)]);
  const webhooks = Object.entries(document.webhooks).filter(([, { post }]) => isOf(post));
  const part = {
    ...document,
    tags: document.tags.filter(({ name }) => areas.has(name)),
    paths: Object.fromEntries(paths),
    webhooks: Object.fromEntries(webhooks),
  };
  return { ...part, components: componentsOf(document, [part.paths, part.webhooks]) };
}

/** The components that `parts` refer to, also through other components. */
function componentsOf({ components }: OpenApiDocument, parts: unknown): OpenApiDocument["components"] {
  const used = new Set<unknown>();
  const pending = [parts];
  while (pending.length > 0) {
    for (const [, kind = "", name = ""] of JSON.stringify(pending.pop()).matchAll(COMPONENT)) {
      const component = (components[kind] as Record<string, unknown>)[name];
      if (used.has(component)) continue;
      used.add(component);
      pending.push(component);
    }
  }
  const kept = Object.entries(components).map(([kind, named]) => [
    kind,
    ALWAYS.includes(kind)
      ? named
      : Object.fromEntries(Object.entries(named).filter(([, component]) => used.has(component))),
  ]);
  return Object.fromEntries(kept);
}
