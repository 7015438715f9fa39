import { anyone } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { JsonWebKeySet } from "./shapes.ts";

const endpoint = endpointsIn("Sign-in");

/** The public keys that verify access tokens. Caches keep them for a short time, so that a new key is soon used. */
export const keyRoutes = [
  endpoint("GET /.well-known/jwks.json", {
    id: "readKeys",
    summary:
      "Read the public keys of access and ID tokens; of each algorithm, the current signing key is first",
    access: anyone,
    service: "essential",
    anyOrigin: true,
    answers: { 200: { description: "A JSON Web Key Set", schema: JsonWebKeySet } },
    run: async ({ platform }) =>
      ok(await platform.tokens.publicKeys(), { "cache-control": "public, max-age=300" }),
  }),
] as const;
