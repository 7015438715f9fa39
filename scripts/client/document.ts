import { VERSION } from "../../infra/version.ts";
import { paths } from "../../infra/setting_shapes.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { assemble } from "../../routes/extensions/assemble.ts";
import { loadExtensions } from "../../routes/extensions/load_extensions.ts";
import { type OpenApiDocument, openApiDocument } from "../../routes/shared/openapi.ts";

/**
 * The API document of all routes, without a running service.
 * @param extensions modules of extensions, comma-separated
 */
export async function documentOfRoutes(extensions = ""): Promise<OpenApiDocument> {
  const { endpoints } = assemble(await loadExtensions(paths.parse(extensions)), () => {
    throw new Error("the routes are only described; the service runs its own");
  });
  const all = [...ENDPOINTS, ...endpoints];
  return openApiDocument(all, { baseUrl: "http://127.0.0.1:8000", version: VERSION });
}
