import assert from "node:assert/strict";
import { systemClock } from "../../infra/clock.ts";
import { openIdProvider, OpenIdUnavailable } from "../../infra/openid.ts";

/** Starts a sign-in at a provider with this metadata. */
const start = (issuer: string, metadata: Record<string, unknown>) =>
  openIdProvider({
    issuer,
    clientId: "steward",
    clientSecret: undefined,
    clientAuthentication: "supported",
    scopes: ["openid"],
    fetch: () => Promise.resolve(Response.json({ issuer, authorization_endpoint: issuer, ...metadata })),
  }, systemClock)
    .authorizationUrl({
      state: "s",
      nonce: "n",
      codeVerifier: "v",
      redirectUri: "https://steward.test/callback",
    });

const unavailable = (text: RegExp) => (refusal: unknown) =>
  refusal instanceof OpenIdUnavailable && text.test(refusal.message);

Deno.test("an issuer that stands for all directories of Entra is refused", async () => {
  const common = start("https://login.microsoftonline.com/common/v2.0", {
    issuer: "https://login.microsoftonline.com/{tenantid}/v2.0",
  });
  await assert.rejects(common, unavailable(/issuer of one directory/));
  const one = "https://login.microsoftonline.com/01990000-0000-7000-8000-000000000001/v2.0";
  assert.equal((await start(one, {})).pathname, new URL(one).pathname);
});

Deno.test("an authorization endpoint that is missing or no https URL makes the provider unavailable", async () => {
  for (const authorization_endpoint of [undefined, "javascript:alert(1)", "http://id.example.com/", 5]) {
    await assert.rejects(
      start("https://id.example.com", { authorization_endpoint }),
      unavailable(/authorization endpoint/),
    );
  }
});
