import type { Platform } from "../../domain/shared/platform.ts";
import { readConfig } from "../../infra/config.ts";
import { VERSION } from "../../infra/version.ts";
import { allEndpoints } from "../../routes/endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../../routes/shared/openapi.ts";

/**
 * The OpenAPI document of the routes, without a running service. The routes are only declared, so the platform is a proxy
 * with placeholders: any property, call or construction of a placeholder returns the placeholder.
 */
export function documentOfRoutes(): OpenApiDocument {
  const config = readConfig({ DATABASE_URL: "postgres://nowhere" });
  const provided: Record<string, unknown> = { config, mail: [] };
  const platform = new Proxy({}, { get: (_, name) => provided[String(name)] ?? PLACEHOLDER });
  const endpoints = allEndpoints(platform as Platform, { isStopping: () => false });
  return openApiDocument(endpoints, { baseUrl: "http://127.0.0.1:8000", version: VERSION });
}

const PLACEHOLDER: unknown = new Proxy(function placeholder() {}, {
  get: (_, name) =>
    name === Symbol.iterator ? Array.prototype.values.bind([]) : name === "then" ? undefined : PLACEHOLDER,
  apply: () => PLACEHOLDER,
  construct: () => PLACEHOLDER as object,
});
