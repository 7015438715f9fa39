import assert from "node:assert/strict";
import { secretsIn } from "../../scripts/scan-secrets.ts";

/** Assembled here, so that the scan does not find this file. */
const A64 = "aB3".repeat(22);
const SECRETS: Record<string, string> = {
  "a private key": ["-----BEGIN", "EC PRIVATE KEY-----\n" + A64].join(" "),
  "a JSON Web Key with its private part": `{"kty":"OKP", "d"` + `: "${A64}"}`,
  "an AWS access key": "AKIA" + "ABCDEFGHIJKLMNOP",
  "a GitHub token": "ghp_" + A64.slice(0, 36),
  "an API key": "sk_" + A64.slice(0, 43),
  "a signed token": ["eyJ" + A64, "eyJ" + A64, A64].join("."),
  "a password in a URL": "postgres://steward:" + "hunter2hunter2hunter2@db.example/steward",
  "a value assigned to a secret's name": `clientSecret` + `: "${A64.slice(0, 40)}"`,
};

Deno.test("keys and tokens are found with their line and kind", () => {
  for (const [kind, secret] of Object.entries(SECRETS)) {
    assert.deepEqual(secretsIn(`first\n${secret}\n`)[0], { line: 2, kind }, secret);
  }
});

Deno.test("declared exceptions and ordinary code are accepted", () => {
  const declared = Object.values(SECRETS).map((secret) =>
    `// not a secret: made up\n${secret.replace("\n", "")}`
  );
  assert.deepEqual(declared.flatMap(secretsIn), []);
  const ordinary = [
    `const password = Deno.env.get("BOOTSTRAP_ADMIN_PASSWORD") ?? "steward-admin-dev";`,
    "postgres://steward:${password}@127.0.0.1/steward",
    "-----BEGIN PRIVATE KEY-----",
    "the key begins with sk_ and is shown once",
  ];
  assert.deepEqual(ordinary.flatMap(secretsIn), []);
});
