import type { Row, Rows } from "./rows.ts";
import type { Kind } from "./world.ts";

/** The six routes of one resource. */
export function resource(
  kind: Kind,
  one: string,
  many: string,
  notFound: string,
  body: Record<string, unknown>,
): Rows {
  const One = one.charAt(0).toUpperCase() + one.slice(1);
  const Many = many.charAt(0).toUpperCase() + many.slice(1);
  const named = (body?: unknown): Row => ({
    names: (id) => ({ params: { id: id(kind) }, ...(body === undefined ? {} : { body }) }),
    code: notFound,
  });
  return {
    [`list${Many}`]: { own: () => ({ query: { includeDeleted: "true" } }) },
    [`read${One}`]: named(),
    [`create${One}`]: { own: () => ({ body }) },
    [`create${Many}`]: {
      own: () => ({ body: { items: [], continueOnError: true } }),
      code: "VALIDATION_ERROR",
    },
    [`update${One}`]: named(body),
    [`delete${One}`]: named(),
  };
}

/** Resources of the generic contract. */
export const resourceRows: Rows = {
  ...resource("application", "application", "applications", "APPLICATION_NOT_FOUND", {
    code: "o",
    name: "O",
  }),
  ...resource("setting", "setting", "settings", "SETTING_NOT_FOUND", { key: "o", value: "O" }),
  listApplicationUsage: { own: () => ({}) },
};
