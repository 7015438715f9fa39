import { z } from "zod";
import type { RecordAction } from "../../domain/records/record_type.ts";
import type { ExtensionRoute } from "./extension.ts";
import type { LoadedExtension } from "./load_extensions.ts";
import type { Names } from "./names.ts";

const PAGE_PATH = /^([a-z0-9-]+|\{\w+\})(\/([a-z0-9-]+|\{\w+\}))*$/;
const PARAMETER = /\{(\w+)\}/g;

/** Checks the actions of records, the cards and the pages of an extension. @throws Error that names the mistake */
export function checkConsoleParts(
  names: Names,
  { name, routes = [], resources = [], overview = [], pages = [] }: LoadedExtension,
): void {
  for (const { one, actions } of resources) {
    for (const [key, action] of Object.entries<RecordAction>(actions)) {
      const mistake = routeMistake(routes.find(({ id }) => id === action.route));
      if (!mistake) continue;
      throw new Error(
        `extension ${name}: the action ${key} of the record ${one}: "${action.route}" ${mistake}`,
      );
    }
  }
  const parts = [
    ...overview.map(({ title, permission }) => ({ at: `overview: "${title.en}"`, permission })),
    ...pages.map(({ path, permission }) => ({ at: `pages: "${path}"`, permission })),
  ];
  for (const { at, permission } of parts) {
    if (names.has("permissions", permission)) continue;
    throw new Error(`extension ${name}: ${at} needs the undeclared permission ${permission}`);
  }
  for (const { path, isInNavigation } of pages) {
    names.claim(name, "pages", path, PAGE_PATH, `${name} ${path.replaceAll(PARAMETER, "{}")}`);
    if (!isInNavigation || !path.includes("{")) continue;
    throw new Error(`extension ${name}: pages: "${path}" has a parameter, so the navigation cannot list it`);
  }
}

/** The reason why an action cannot call a route; null if it can. */
function routeMistake(route: ExtensionRoute | undefined): string | null {
  if (!route) return "is not the operation id of a route of the extension";
  const parameters = [...route.path.matchAll(PARAMETER)].map(([, parameter]) => parameter);
  if (parameters.join() !== "id") return `has the path ${route.path}; expected the parameter {id} alone`;
  if (route.body || route.content) return "needs a body, which a button does not send";
  if (route.method !== "get") return null;
  const { schema } = route.answers[200] ?? {};
  return schema instanceof z.ZodObject && "url" in schema.shape
    ? null
    : "is a GET route that answers no url for the button to open";
}
