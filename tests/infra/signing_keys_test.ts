import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { algorithmOf, generateTokenKey } from "../../infra/signing_keys.ts";

const bitsOf = (n = "") => Math.round(n.length * 6 / 64) * 64;

Deno.test("a new RSA key has 3072 bits; a given one may have 2048, but not fewer", async () => {
  assert.equal(bitsOf((await generateTokenKey("RS256")).n), 3072);
  const given = async (modulusLength: number) => {
    const { privateKey } = await generateKeyPair("RS256", { modulusLength, extractable: true });
    return algorithmOf(await exportJWK(privateKey));
  };
  assert.equal(await given(2048), "RS256");
  const short = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  assert.equal(algorithmOf(await exportJWK(short.privateKey)), null);
});
