import { VERSION } from "../../infra/version.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../../routes/shared/openapi.ts";

/** The API document of all routes, without a running service. */
export const documentOfRoutes = (): OpenApiDocument =>
  openApiDocument(ENDPOINTS, { baseUrl: "http://127.0.0.1:8000", version: VERSION });
