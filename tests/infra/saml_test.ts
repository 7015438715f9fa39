// Answers of SAML providers: good ones, and the attacks on signatures and XML that are known.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { getVerifiedXml } from "@node-saml/node-saml/lib/xml.js";
import { SignedXml } from "xml-crypto";
import {
  readSamlAnswer,
  readSamlCertificate,
  readSamlMetadata,
  type SamlIdentity,
  samlMetadata,
  SamlRefused,
  samlRequestUrl,
  verifySamlAnswer,
} from "../../infra/saml.ts";
import {
  type AnswerParts,
  assertionXml,
  base64,
  goodAnswer,
  hasOpenssl,
  makeSamlKey,
  requestOf,
  responseXml,
  type SamlKey,
  signed,
  takeSignature,
} from "../support/saml.ts";

const now = new Date("2026-03-01T12:00:00Z");
const parts: AnswerParts = {
  issuer: "https://idp.test/metadata",
  acsUrl: "https://steward.test/acs",
  audience: "https://steward.test/metadata",
  inResponseTo: "_request",
  now,
};
const service = { entityId: parts.audience, acsUrl: parts.acsUrl };
const [key, other, stranger] = (hasOpenssl ? await Promise.all([1, 2, 3].map(() => makeSamlKey())) : []) as [
  SamlKey,
  SamlKey,
  SamlKey,
];
const connection = {
  entityId: parts.issuer,
  signInUrl: "https://idp.test/sso?tenant=1",
  certificates: hasOpenssl ? [other, key].map(({ certificate }) => readSamlCertificate(certificate)) : [],
};

/** A case that needs keys. */
const check = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore: !hasOpenssl, fn });

const verify = async (xml: string, o: { requestId?: string; now?: Date } = {}): Promise<SamlIdentity> =>
  await verifySamlAnswer(await readSamlAnswer(base64(xml)), {
    connection,
    service,
    requestId: o.requestId ?? parts.inResponseTo,
    now: o.now ?? now,
  });

async function refuses(attempt: Promise<unknown>, reason: RegExp): Promise<void> {
  const error = await attempt.then(() => null, (error: unknown) => error);
  assert(error instanceof SamlRefused, `expected a refusal, found ${error}`);
  assert.match(error.message, reason);
}

check("a signed assertion gives its identity, whichever of the certificates signed it", async () => {
  const xml = goodAnswer({
    ...parts,
    id: "_assertion",
    nameId: " a&amp;b ",
    context: "https://refeds.org/profile/mfa",
    attributes: { mail: ["ann@example.test"], groups: ["one", "t&#xE9;"] },
  }, key);
  assert.deepEqual(await verify(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}\n`), {
    subject: "a&b",
    attributes: new Map([["mail", ["ann@example.test"]], ["groups", ["one", "té"]]]),
    amr: ["mfa"],
    assertionId: "_assertion",
    expiresAt: new Date("2026-03-01T12:06:00Z"),
  });
  assert.deepEqual((await verify(goodAnswer(parts, key))).amr, []);
  const sha512 = responseXml(parts, signed(assertionXml(parts), key, "Assertion", "sha512"));
  assert.equal((await verify(sha512)).subject, "subject-1");
});

check("a response may be signed too; then both signatures must be good", async () => {
  const single = goodAnswer(parts, key);
  assert.equal((await verify(signed(single, key, "Response"))).subject, "subject-1");
  await refuses(verify(signed(single, stranger, "Response")), /signature .* found another in the Response/);
  const alone = signed(responseXml(parts, assertionXml(parts)), key, "Response");
  await refuses(verify(alone), /expected a signed assertion; found only a signed response/);
  const twice = signed(signed(assertionXml(parts), key, "Assertion"), key, "Assertion");
  await refuses(verify(responseXml(parts, twice)), /one Signature of the Assertion; found 2/);
});

check(
  "an answer that is not signed, or by a stranger's key, or was changed, is refused",
  async () => {
    await refuses(verify(responseXml(parts, assertionXml(parts))), /found no signature/);
    await refuses(verify(goodAnswer(parts, stranger)), /found another in the Assertion/);
    const good = goodAnswer(parts, key);
    await refuses(verify(good.replace(">subject-1<", ">subject-2<")), /found another in the Assertion/);
    await refuses(
      verify(good.replace(/<SignatureValue>..../, "<SignatureValue>AAAA")),
      /another in the Assertion/,
    );
  },
);

check("only signatures of RSA with SHA-256 or SHA-512 are read", async () => {
  const sha1 = responseXml(parts, signed(assertionXml(parts), key, "Assertion", "sha1"));
  const good = goodAnswer(parts, key);
  const dsig = "http://www.w3.org/2000/09/xmldsig#";
  const named = good.replace("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", `${dsig}hmac-sha1`);
  const signedInfo = /<SignedInfo>.*<\/SignedInfo>/.exec(named)?.[0] ?? "";
  const value = createHmac("sha1", key.certificate).update(signedInfo).digest("base64");
  const xslt = "http://www.w3.org/TR/1999/REC-xslt-19991116";
  const forms: [xml: string, reason: RegExp][] = [
    [sha1, /as SignatureMethod .*rsa-sha256.*found .*#rsa-sha1/],
    [good.replace("http://www.w3.org/2001/04/xmlenc#sha256", `${dsig}sha1`), /as DigestMethod/],
    [named.replace(/<SignatureValue>[^<]*/, `<SignatureValue>${value}`), /as SignatureMethod .*hmac-sha1/],
    [good.replace(/#"\/><SignatureMethod/, '#WithComments"/><SignatureMethod'), /as Canonicaliz/],
    [good.replace(`${dsig}enveloped-signature`, xslt), /as Transform/],
  ];
  for (const [xml, reason] of forms) await refuses(verify(xml), reason);
});

check("signature wrapping of all eight known forms is refused", async () => {
  const evil = (content = "") =>
    assertionXml({ ...parts, id: "_evil", nameId: "admin" }).replace(
      "</saml:Issuer>",
      `</saml:Issuer>${content}`,
    );
  const assertion = signed(assertionXml({ ...parts, id: "_good" }), key, "Assertion");
  const inside = takeSignature(assertion);
  const response = signed(goodAnswer(parts, key), key, "Response");
  const outer = takeSignature(response);
  const evilResponse = (content: string) =>
    responseXml(parts, evil() + content).replace(/ ID="[^"]*"/, ' ID="_evilResponse"');
  const wrap = (signature: string, content: string) =>
    signature.replace("</Signature>", `<Object>${content}</Object></Signature>`);
  const answers = (content: string) => responseXml(parts, content);
  const good = answers(assertion);
  const extensions = `<samlp:Extensions>${evil()}</samlp:Extensions>`;
  const within = inside.signature.replace("</Signature>", `${inside.rest}</Signature>`);
  const forms: Record<string, string> = {
    "1: the signed response in the signature of a forged one": evilResponse(
      wrap(outer.signature, outer.rest),
    ),
    "2: the signed response beside its signature": evilResponse(outer.signature + outer.rest),
    "3: the forged assertion first": answers(evil() + assertion),
    "4: the signed assertion in the forged one": answers(evil(assertion)),
    "5: the signature in the forged one, the signed assertion at the end": answers(
      evil(inside.signature) + inside.rest,
    ),
    "6: the signed assertion in the signature of the forged one": answers(evil(within)),
    "7: the forged assertion in extensions": answers(extensions + assertion),
    "8: the signed assertion in an object of that signature": answers(
      evil(wrap(inside.signature, inside.rest)),
    ),
    "the forged assertion under another namespace": good
      .replace("<saml:Assertion", '<x:Assertion xmlns:x="urn:x"/><saml:Assertion'),
    "one id twice": good.replace("<samlp:Status>", '<samlp:Extensions Id="_good"/><samlp:Status>'),
    "a signature of another element": good.replace('URI="#_good"', 'URI=""'),
    "a signature beside the assertion": answers(inside.signature + inside.rest),
  };
  for (const [name, xml] of Object.entries(forms)) {
    const error = await verify(xml).catch((error: unknown) => error);
    assert(error instanceof SamlRefused, `${name}: ${error}`);
    assert.doesNotMatch(error.message, /another in the/, `${name}: only the library refused it`);
  }
});

check("an answer for another time, request, service or provider is refused", async () => {
  const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  const other = "https://other.test";
  const changes: [Partial<AnswerParts>, RegExp][] = [
    [{ notOnOrAfter: at(-1) }, /good at 2026-03-01T12:00:00.000Z; found one from .* to 2026-03-01T11:59/],
    [{ notBefore: at(1.1) }, /good at .* found one from 2026-03-01T12:01/],
    [{ sessionNotOnOrAfter: at(-1) }, /good at/],
    [{ inResponseTo: "_other" }, /the InResponseTo _request; found _other/],
    [{ audience: other }, /the Audience https:\/\/steward.test\/metadata; found https:\/\/other.test/],
    [{ recipient: other }, /the Recipient https:\/\/steward.test\/acs; found https:\/\/other.test/],
    [{ destination: other }, /the Destination/],
    [{ issuer: other }, /the Issuer https:\/\/idp.test/],
    [{ method: "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key" }, /the Method/],
    [{ format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" }, /a NameID that stays the same/],
  ];
  for (const [change, reason] of changes) {
    await refuses(verify(goodAnswer({ ...parts, ...change }, key)), reason);
  }
  const barelyGood = { ...parts, notOnOrAfter: at(-0.9), notBefore: at(0.9) };
  assert.equal((await verify(goodAnswer(barelyGood, key))).amr.length, 0);
  const absent: [element: RegExp, reason: RegExp][] = [
    [/<saml:AuthnStatement.*<\/saml:AuthnStatement>/, /one AuthnStatement; found 0/],
    [/<saml:Conditions.*<\/saml:Conditions>/, /one Conditions; found 0/],
    [/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, /the Audience .* found none/],
    [/ Recipient="[^"]*"/, /the Recipient .* found none/],
    [/(?<=SubjectConfirmationData) NotOnOrAfter="[^"]*"/, /one from ever to none/],
  ];
  for (const [element, reason] of absent) {
    const assertion = assertionXml(parts).replace(element, "");
    await refuses(verify(responseXml(parts, signed(assertion, key, "Assertion"))), reason);
  }
});

check("XML that hides, multiplies or slows is refused before the parser sees it", async () => {
  const good = goodAnswer(parts, key);
  const read = (xml: string) => readSamlAnswer(base64(xml));
  const forms: [xml: string, reason: RegExp][] = [
    [`<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]>${good}`, /without DOCTYPE.*found "<!DOCTYPE/],
    [good.replace("subject-1", "sub<!-- -->ject-1"), /without .*comments/],
    [good.replace("subject-1", "<![CDATA[subject-1]]>"), /CDATA/],
    [good.replace("subject-1", "<?x y?>subject-1"), /one balanced/],
    [good.replace("subject-1", "&xxe;"), /one balanced/],
    [`${good}<x/>`, /one balanced/],
    [good.replace("</samlp:Response>", ""), /complete/],
    [good.replace("</saml:Subject>", "</saml:subject>"), /balanced/],
    ["<a>".repeat(40_000), /at most 2000 elements, at most 32 deep/],
    [`<a>${"<b/>".repeat(2000)}</a>`, /at most 2000 elements/],
    [`<a>${" ".repeat(10_000_000)}</a>`, /at most 131072 characters/],
    [`<a${" ".repeat(100_000)}!`, /one balanced/],
    [`<a b='${"x".repeat(100_000)}<'`, /one balanced/],
    ["<a/>", /a Response of SAML 2.0; found a/],
  ];
  for (const [xml, reason] of forms) await refuses(read(xml), reason);
  await refuses(readSamlAnswer("no base64!"), /in base64/);
  await refuses(readSamlAnswer("////"), /UTF-8/);
  await refuses(readSamlAnswer(""), /in base64/);
});

check("an encrypted assertion, and a provider's own refusal, are named", async () => {
  const encrypted = responseXml(
    parts,
    '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>',
  );
  await refuses(verify(encrypted), /not encrypted; found EncryptedAssertion/);
  await refuses(verify(responseXml(parts, "", "Responder")), /the status Success; found urn:.*:Responder/);
  await refuses(verify(responseXml(parts, "")), /one Assertion; found 0/);
});

check(
  "the request and the service's metadata say where the answer goes and that its assertion is signed",
  async () => {
    const location = await samlRequestUrl(connection, service, "_request");
    assert.match(location, /^https:\/\/idp\.test\/sso\?tenant=1&SAMLRequest=/);
    const { id, xml } = requestOf(location);
    assert.equal(id, "_request");
    assert.match(
      xml,
      /AssertionConsumerServiceURL="https:\/\/steward\.test\/acs".*<saml:Issuer[^>]*>https:\/\/steward\.test\/metadata</,
    );
    const metadata = await samlMetadata(service);
    assert.match(metadata, /entityID="https:\/\/steward\.test\/metadata"/);
    assert.match(metadata, /WantAssertionsSigned="true"/);
    assert.match(metadata, /HTTP-POST" Location="https:\/\/steward\.test\/acs"/);
  },
);

check(
  "a provider's metadata gives its connection; keys that cannot verify are refused",
  async () => {
    const certificate = (pem: string, use = "") =>
      `<KeyDescriptor${use}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${
        pem.replace(/-----.*-----/g, "")
      }</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>`;
    const metadata = (keys: string, binding = "HTTP-Redirect") =>
      `<?xml version="1.0"?><!-- made by <x> --><EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="https://idp.test/metadata"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${keys}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.test/post"/><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="https://idp.test/sso?tenant=1"/></IDPSSODescriptor></EntityDescriptor>`;
    const keys = certificate(key.certificate, ' use="signing"') + certificate(key.certificate) +
      certificate(stranger.certificate, ' use="encryption"');
    const expected = { ...connection, certificates: [readSamlCertificate(key.certificate)] };
    assert.deepEqual(await readSamlMetadata(metadata(keys)), expected);
    await refuses(readSamlMetadata(metadata(keys, "SOAP")), /SingleSignOnService of HTTP-Redirect/);
    await refuses(readSamlMetadata(metadata("")), /a signing certificate/);
    await refuses(readSamlMetadata(metadata(keys).replace("-->", "")), /one balanced/);
    await refuses(
      readSamlMetadata(metadata(keys).replaceAll("IDPSSODescriptor", "X")),
      /one IDPSSODescriptor; found 0/,
    );
    const small = await makeSamlKey("rsa:1024");
    const curve = await makeSamlKey("ec", "-pkeyopt", "ec_paramgen_curve:P-256");
    for (const { certificate } of [small, curve, { certificate: "no certificate" }]) {
      await refuses(
        Promise.resolve().then(() => readSamlCertificate(certificate)),
        /RSA key of at least 2048 bits/,
      );
    }
  },
);

check("namespaces that a signature includes by name are those of the elements around it", async () => {
  const typed = assertionXml({ ...parts, attributes: { mail: ["ann@example.test"] } })
    .replace("<saml:AttributeValue>", '<saml:AttributeValue xsi:type="xs:string">');
  const xml = responseXml(parts, typed).replace(
    "<samlp:Response ",
    '<samlp:Response xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ',
  );
  const exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";
  const signature = new SignedXml({
    privateKey: key.key,
    signatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    canonicalizationAlgorithm: exclusive,
    inclusiveNamespacesPrefixList: ["xs"],
  });
  const xpath = "//*[local-name()='Assertion']";
  signature.addReference({
    xpath,
    transforms: ["http://www.w3.org/2000/09/xmldsig#enveloped-signature", exclusive],
    digestAlgorithm: "http://www.w3.org/2001/04/xmlenc#sha256",
    inclusiveNamespacesPrefixList: ["xs", "xsi"],
  });
  signature.computeSignature(xml, {
    prefix: "ds",
    location: { reference: `${xpath}/*[local-name()='Issuer']`, action: "after" },
  });
  const good = signature.getSignedXml();
  assert.match(good, /PrefixList="xs xsi"/);
  assert.deepEqual((await verify(good)).attributes.get("mail"), ["ann@example.test"]);
  await refuses(verify(good.replace("XMLSchema-instance", "XMLSchema-other")), /another in the Assertion/);
});

check("no changed answer is accepted that the library refuses, or with another identity", async () => {
  const good = signed(goodAnswer(parts, key), key, "Response");
  const expected = await verify(good);
  let state = 1;
  const random = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit;
  const pieces = good.match(/<[^>]+>|[^<]+/g) ?? [];
  let accepted = 0;
  for (let n = 0; n < 400; n++) {
    const changed = [...pieces];
    const [from, to] = [random(pieces.length), random(pieces.length)];
    const piece = changed[from] ?? "";
    const at = random(piece.length);
    if (n % 4 === 0) changed.splice(to, 0, ...changed.splice(from, 1 + random(12)));
    else if (n % 4 === 1) changed.splice(to, 0, ...changed.slice(from, from + 1 + random(12)));
    else if (n % 4 === 2) changed[from] = piece.slice(0, at) + piece.slice(at + 1);
    else changed[from] = `${piece.slice(0, at)}${pieces[to]?.at(-2) ?? "x"}${piece.slice(at)}`;
    const xml = changed.join("");
    const found = await verify(xml).catch((error: unknown) => error);
    if (found instanceof SamlRefused) continue;
    accepted++;
    assert.deepEqual(found, expected, xml);
    const { root, assertion } = await readSamlAnswer(base64(xml));
    for (const element of [root, assertion]) {
      assert(getVerifiedXml(xml, element, connection.certificates), xml);
    }
  }
  assert(accepted > 0, "some changes are outside of the signed text");
});
