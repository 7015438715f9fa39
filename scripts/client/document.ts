import type { Platform } from "../../domain/shared/platform.ts";
import { readConfig } from "../../infra/config.ts";
import { VERSION } from "../../infra/version.ts";
import { allEndpoints } from "../../routes/endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../../routes/shared/openapi.ts";

/**
 * The document of the service's routes, without a service: they are only listed, and nothing they would work with is
 * there. Whatever a route takes from the platform before it is asked anything answers with the same nothing.
 */
export function documentOfRoutes(): OpenApiDocument {
  const config = readConfig({ DATABASE_URL: "postgres://nowhere" });
  const given: Record<string, unknown> = { config, mail: [] };
  const platform = new Proxy({}, { get: (_, name) => given[String(name)] ?? NOTHING });
  const endpoints = allEndpoints(platform as Platform, { isStopping: () => false });
  return openApiDocument(endpoints, { baseUrl: "http://127.0.0.1:8000", version: VERSION });
}

const NOTHING: unknown = new Proxy(function nothing() {}, {
  get: (_, name) =>
    name === Symbol.iterator ? Array.prototype.values.bind([]) : name === "then" ? undefined : NOTHING,
  apply: () => NOTHING,
  construct: () => NOTHING as object,
});
