// The document of some areas, as a part of the whole one.
import type { OpenApiDocument } from "../shared/openapi_document.ts";

const COMPONENT = /"\$ref":"#\/components\/([^/"]+)\/([^"]+)"/g;
/** Security schemes are named without a reference, and apply to every area. */
const ALWAYS = ["securitySchemes"];

/** The part of `document` for the areas with these names: their operations and webhooks, and the components these refer to. */
export function documentOfAreas(document: OpenApiDocument, areas: ReadonlySet<string>): OpenApiDocument {
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
