import { z } from "zod";
import { listDocumentUses } from "../../domain/reports/document_templates/render.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Notification templates");

const DocumentUseDto = z.object({
  id: z.guid(),
  slug: z.string(),
  name: z.string(),
  locale: z.string(),
  error: z.string().nullable().describe("Why it is invalid with the partial; null: it is valid"),
}).meta({ id: "DocumentUseDto" });

/** Routes about the use of message partials in document templates. */
export const documentUsesRoute = endpoint("GET /api/v1/notification-templates/{id}/document-uses", {
  id: "listPartialDocumentUses",
  summary: "List the document templates that use a partial, and whether each is valid with it",
  details: "Templates that use it through another partial are listed too. At most 50, by slug and locale.",
  access: inTenant("send:notifications"),
  params: z.object({ id: uuid }),
  answers: { 200: { description: "The document templates", schema: z.array(DocumentUseDto) } },
  problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "RATE_LIMITED"],
  run: async ({ platform, caller, params: { id } }) =>
    ok(await listDocumentUses(platform, caller.tenantId, id)),
});
