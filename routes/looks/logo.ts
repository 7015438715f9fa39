import { z } from "zod";
import { readLogo } from "../../domain/looks/looks.ts";
import { logoNotFound } from "../../domain/looks/write.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Looks");

/** The public logo of a tenant, for mails and hosted pages. */
export const logoRoutes = [
  endpoint("GET /looks/{tenantId}/logo", {
    id: "showTenantLogo",
    access: anyone,
    summary: "The logo of a tenant; mails and hosted pages show it",
    details: "A tenant that does not exist is answered like one without a logo.",
    params: z.object({ tenantId: uuid }),
    query: z.object({
      v: z.string().max(100).optional().meta({
        description: "Tag of the logo: the answer may be cached for long",
      }),
    }),
    answers: { 200: { description: "The image", contentType: "image/png", alsoAs: ["image/jpeg"] } },
    problems: ["TENANT_LOGO_NOT_FOUND"],
    async run({ db, params: { tenantId }, query: { v } }) {
      const logo = await readLogo(db, tenantId);
      if (!logo) throw logoNotFound();
      const { contentType, content, tag } = logo;
      return ok(content, {
        "content-type": contentType,
        "cache-control": v === tag ? "public, max-age=31536000, immutable" : "public, max-age=300",
        "cross-origin-resource-policy": "cross-origin",
      });
    },
  }),
] as const;
