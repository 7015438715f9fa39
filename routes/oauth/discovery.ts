import { z } from "zod";
import { providerMetadata } from "../../domain/oauth/metadata.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("OpenID provider");

const ProviderMetadata = z.looseObject({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
}).meta({ id: "OpenIdProviderMetadata" });

/** The provider's metadata, from which clients configure themselves. */
export const discoveryRoutes = [
  endpoint("GET /.well-known/openid-configuration", {
    alsoAt: ["/.well-known/oauth-authorization-server"],
    id: "readProviderMetadata",
    summary: "Read the metadata of the OpenID provider",
    access: anyone,
    service: "essential",
    anyOrigin: true,
    answers: { 200: { description: "Endpoints and features", schema: ProviderMetadata } },
    problems: ["OPENID_KEY_MISSING_UNAVAILABLE"],
    run: ({ platform }) => ok(providerMetadata(platform), { "cache-control": "public, max-age=300" }),
  }),
] as const;
