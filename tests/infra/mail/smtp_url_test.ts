import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { parseSmtpUrl } from "../../../infra/mail/smtp_url.ts";

Deno.test("host, port, TLS and sign-in are read from the URL", () => {
  const plain = parseSmtpUrl("smtp://mail.example.test");
  has(plain, { host: "mail.example.test", port: 587, secure: false, auth: null });
  const full = parseSmtpUrl(
    "smtps://me%40x.test:p%3Aw%2F%25@mail.example.test:2465?maxConnections=2&name=me.test",
  );
  const auth = { user: "me@x.test", pass: "p:w/%" };
  has(full, { port: 2465, secure: true, maxConnections: 2, name: "me.test", auth });
  assert.equal(parseSmtpUrl("smtp://[::1]:25").host, "::1");
});

Deno.test("a password without TLS to another machine needs an explicit option", () => {
  assert.equal(parseSmtpUrl("smtp://u:p@mail.example.test").requireTLS, true);
  assert.equal(parseSmtpUrl("smtp://u:p@mail.example.test?requireTLS=false").requireTLS, false);
  assert.equal(parseSmtpUrl("smtp://mail.example.test").requireTLS, false);
  for (const local of ["localhost", "127.0.0.1", "[::1]"]) {
    assert.equal(parseSmtpUrl(`smtp://u:p@${local}`).requireTLS, false);
  }
});

Deno.test("an unusable URL is rejected without showing the password", () => {
  const wrong = {
    "https://u:topsecret@x.test": /expected smtp:/,
    "topsecret": /expected smtp:/,
    "smtp://u:topsecret@x.test?rejectUnauthorized=false": /unknown parameter `rejectUnauthorized`/,
    "smtp://u:topsecret@x.test?tls.rejectUnauthorized=false": /unknown parameter/,
    "smtp://u:topsecret@x.test?requireTLS=maybe": /requireTLS=maybe, expected true or false/,
    "smtp://u:topsecret@x.test?maxConnections=0": /maxConnections=0, expected a whole number from 1 to 100/,
    "smtp://u:topsecret%ff@x.test": /percent-encoding/,
  };
  for (const [url, expected] of Object.entries(wrong)) {
    assert.throws(() => parseSmtpUrl(url), (error: Error) => {
      assert.match(error.message, expected);
      assert(!error.message.includes("topsecret"));
      return true;
    });
  }
});
