import assert from "node:assert/strict";
import { ConfigurationError, readConfig } from "../../infra/config.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";

function mistakes(env: Record<string, string>): string {
  try {
    readConfig(env);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
}

const withProvider = (settings: Record<string, unknown>, name = "corp") =>
  mistakes({
    OIDC_PROVIDERS: JSON.stringify({ [name]: { issuer: "https://id.test", clientId: "x", ...settings } }),
  });

Deno.test("a provider needs few settings and has defaults", () => {
  const text = '{"corp": {"issuer": "https://id.test", "clientId": "steward"}}';
  assert.deepEqual(readConfig({ OIDC_PROVIDERS: text }).OIDC_PROVIDERS, {
    corp: {
      issuer: "https://id.test",
      clientId: "steward",
      scopes: ["openid", "email", "profile"],
      clientAuthentication: "client_secret_basic",
      autoProvision: false,
      satisfiesSecondFactor: false,
    },
  });
  assert.equal(readConfig({}).OIDC_PROVIDERS, null);
});

Deno.test("mistakes in a provider are reported with their path, without the secret", () => {
  assert.match(
    withProvider({ issuer: "http://id.test" }),
    /OIDC_PROVIDERS: corp\.issuer: expected an https URL/,
  );
  assert.match(withProvider({ issuer: "no url" }), /corp\.issuer: /);
  assert.equal(withProvider({ issuer: "http://127.0.0.1:9400" }), "");
  assert.match(withProvider({ scopes: ["email"] }), /corp\.scopes: expected `openid`/);
  assert.match(withProvider({ clientId: undefined }), /corp\.clientId/);
  assert.match(withProvider({ autoprovision: true }), /autoprovision/);
  assert.match(withProvider({}, "No Name"), /OIDC_PROVIDERS: /);
  for (
    const text of [
      '{"corp": {"clientSecret": "hush-hush"',
      '{"corp": {"clientSecret": ["hush-hush"]}}',
      '"hush-hush"',
    ]
  ) {
    const message = mistakes({ OIDC_PROVIDERS: text });
    assert.match(message, /OIDC_PROVIDERS/);
    assert.doesNotMatch(message, /hush/);
  }
});

Deno.test("return origins are reduced to origins, and must be URLs", () => {
  const { OIDC_RETURN_ORIGINS } = readConfig({
    OIDC_RETURN_ORIGINS: "https://App.test/path, http://localhost:3000",
  });
  assert.deepEqual(OIDC_RETURN_ORIGINS, ["https://app.test", "http://localhost:3000"]);
  for (const text of ["app.test", "javascript:alert(1)", "https://app.test,*"]) {
    assert.match(mistakes({ OIDC_RETURN_ORIGINS: text }), /OIDC_RETURN_ORIGINS/);
  }
});

Deno.test("a reset URL must contain the token placeholder", () => {
  assert.equal(mistakes({ RESET_URL: "https://app.test/reset?t={token}" }), "");
  for (const text of ["https://app.test/reset", "javascript:{token}", "{token}"]) {
    assert.match(
      mistakes({ RESET_URL: text }),
      /RESET_URL: expected an http\(s\) URL that contains \{token\}/,
    );
  }
});

Deno.test("token keys must be private keys, one of them Ed25519, and are never shown", async () => {
  const key = await generateTokenKey();
  assert.equal(mistakes({ TOKEN_KEYS: JSON.stringify([key, await generateTokenKey()]) }), "");
  const rsa = await generateTokenKey("RS256");
  assert.equal(mistakes({ TOKEN_KEYS: JSON.stringify([key, rsa]) }), "");
  for (
    const text of [
      "[]",
      "hush-hush",
      JSON.stringify(key),
      JSON.stringify([rsa]),
      JSON.stringify([key, { ...rsa, d: "" }]),
      JSON.stringify([key, { ...rsa, n: "hush-hush" }]),
      '[{"kty":"RSA","d":"hush-hush"}]',
      '[{"d":"hush-hush"',
    ]
  ) {
    const message = mistakes({ TOKEN_KEYS: text });
    assert.match(message, /TOKEN_KEYS: expected a JSON array/);
    assert.doesNotMatch(message, /hush/);
  }
});

Deno.test("production needs PUBLIC_URL, the base of issuer, links and redirects", () => {
  assert.match(mistakes({ STEWARD_ENV: "production" }), /PUBLIC_URL is missing/);
});
