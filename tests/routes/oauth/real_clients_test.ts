// A client that nobody here wrote signs in, configured by discovery alone. Others are in `real_clients_deep.ts`.
import assert from "node:assert/strict";
import * as openid from "openid-client";
import { setupShared } from "../../support/setup.ts";
import { CALLBACK, makeClient, signedInBrowser } from "./flow.ts";

const t = await setupShared();

Deno.test("openid-client signs in, reads the user, refreshes, revokes and signs out", async () => {
  const made = await makeClient(t.systemAdmin, { postLogoutRedirectUris: ["https://app.test/bye"] });
  const { browser, who } = await signedInBrowser(t);
  const config = await openid.discovery(new URL(t.url), made.clientId, made.secret ?? "", undefined, {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  });
  const [verifier, state, nonce] = [
    openid.randomPKCECodeVerifier(),
    openid.randomState(),
    openid.randomNonce(),
  ];
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: "openid profile email offline_access",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
    max_age: "600",
  });
  const tokens = await openid.authorizationCodeGrant(config, await browser.leave(url), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    maxAge: 600,
  });
  assert.equal(tokens.claims()?.sub, who.id);
  assert.equal((await openid.fetchUserInfo(config, tokens.access_token, who.id)).email, who.email);
  const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
  await openid.tokenRevocation(config, next.refresh_token ?? "");
  const revoked = openid.refreshTokenGrant(config, next.refresh_token ?? "");
  await assert.rejects(revoked, /invalid_grant|unexpected|server responded/);
  const machine = await openid.clientCredentialsGrant(config);
  assert.equal(machine.token_type, "bearer");
  const end = openid.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token ?? "",
    post_logout_redirect_uri: "https://app.test/bye",
    state,
  });
  assert.equal(String(await browser.leave(end)), `https://app.test/bye?state=${state}`);
});
