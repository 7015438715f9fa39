import { anyone } from "../../domain/access/checks.ts";
import { ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { JsonWebKeySet } from "./shapes.ts";

/** The public keys access tokens are verified with. Short-lived in caches, so that a rotation is soon known. */
export const keyRoutes: Endpoint[] = [
  endpoint({
    method: "get",
    path: "/.well-known/jwks.json",
    area: "Sign-in",
    id: "readKeys",
    summary: "The public keys of access tokens, the signing one first",
    access: anyone,
    answers: { 200: { description: "A JSON Web Key Set", schema: JsonWebKeySet } },
    problems: [],
    run: ({ platform }) => ok(platform.tokens.publicKeys(), { "cache-control": "public, max-age=300" }),
  }),
];
