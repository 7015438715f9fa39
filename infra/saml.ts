import { Buffer } from "node:buffer";
import { createHash, verify, X509Certificate } from "node:crypto";
import {
  childrenOf,
  elementsOf,
  isNamed,
  only,
  parseStrictXml,
  textOf,
  type XmlElement,
  XmlRefused,
} from "./strict_xml.ts";

const SAML = "urn:oasis:names:tc:SAML:2.0";
const PROTOCOL = `${SAML}:protocol`;
const ASSERTION = `${SAML}:assertion`;
const METADATA = `${SAML}:metadata`;
const SIGNATURE = "http://www.w3.org/2000/09/xmldsig#";
const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";

/** The permitted algorithms of signatures and digests. SHA-1 and HMAC are not among them. */
const SIGNATURE_HASHES: Record<string, string> = {
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": "sha256",
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": "sha512",
};
const DIGEST_HASHES: Record<string, string> = {
  "http://www.w3.org/2001/04/xmlenc#sha256": "sha256",
  "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
};

/** Values that say that the provider asked for a second factor, as a context class or in Entra's attribute. */
const SECOND_FACTOR: ReadonlySet<string> = new Set([
  "https://refeds.org/profile/mfa",
  "http://schemas.microsoft.com/claims/multipleauthn",
  `${SAML}:ac:classes:MobileTwoFactorContract`,
  `${SAML}:ac:classes:MobileTwoFactorUnregistered`,
]);
const AUTHENTICATION_METHODS = "http://schemas.microsoft.com/claims/authnmethodsreferences";

/** Tolerated difference between the clocks of the provider and the service. */
const SKEW_MS = 60_000;
const MIN_KEY_BITS = 2048;

/** Thrown when an answer fails a check. The text contains no secrets and may be shown. */
export { XmlRefused as SamlRefused };

/** A tenant's identity provider. */
export interface SamlConnection {
  entityId: string;
  signInUrl: string;
  /** In PEM. An answer must be signed by one of them, so that the provider can change its key. */
  certificates: string[];
}

/** The service as the provider knows it. */
export interface SamlService {
  entityId: string;
  acsUrl: string;
}

/** The person who signed in, according to the provider. */
export interface SamlIdentity {
  subject: string;
  /** The values of each attribute. */
  attributes: ReadonlyMap<string, string[]>;
  /** `["mfa"]` if the answer says that there was a second factor. */
  amr: string[];
  /** Must be remembered until `expiresAt`, so that the answer is used once. */
  assertionId: string;
  expiresAt: Date;
}

/** An answer whose form was checked, and nothing else. */
export interface SamlAnswer {
  /** The id of the request that it claims to answer; null: the provider started the sign-in. */
  inResponseTo: string | null;
  root: XmlElement;
  assertion: XmlElement;
}

/** The library's client; it is loaded at its first use, so that start-up does not pay. */
async function client(service: SamlService, o: { connection?: SamlConnection; requestId?: string } = {}) {
  const { SAML } = await import("@node-saml/node-saml");
  return new SAML({
    issuer: service.entityId,
    callbackUrl: service.acsUrl,
    entryPoint: o.connection?.signInUrl ?? "",
    idpCert: o.connection?.certificates ?? "unused",
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    generateUniqueId: () => o.requestId ?? "_service",
  });
}

/** The URL where the browser signs in. `requestId` must be an XML name; it comes back as `inResponseTo`. */
export const samlRequestUrl = async (
  connection: SamlConnection,
  service: SamlService,
  requestId: string,
): Promise<string> =>
  await (await client(service, { connection, requestId })).getAuthorizeUrlAsync("", undefined, {});

/** The service's metadata, for the provider. It asks for signed assertions. */
export const samlMetadata = async (service: SamlService): Promise<string> =>
  (await client(service)).generateServiceProviderMetadata(null, null);

/**
 * Reads an answer and checks its form before anything is believed: strict XML, one assertion, each id once, and signatures only
 * where they belong, of permitted algorithms. So no second, wrapped or hidden assertion is ever verified.
 * @param encoded the form field `SAMLResponse` @throws SamlRefused
 */
export async function readSamlAnswer(encoded: string): Promise<SamlAnswer> {
  const xml = withoutDeclaration(decoded(encoded.replace(/\s+/g, "")));
  const root = await parseStrictXml(xml);
  if (!isNamed(root, PROTOCOL, "Response")) throw new XmlRefused("a Response of SAML 2.0", root.localName);
  requireSuccess(root);
  const elements = elementsOf(root);
  const encrypted = elements.find(({ localName }) => localName.startsWith("Encrypted"));
  if (encrypted) throw new XmlRefused("an assertion that is not encrypted", encrypted.localName);
  const assertion = only(elements.filter(({ localName }) => localName === "Assertion"), "Assertion");
  if (!isNamed(assertion, ASSERTION, "Assertion") || assertion.parentNode !== root) {
    throw new XmlRefused("the assertion directly in the response", "it elsewhere");
  }
  only(elements.filter(({ localName }) => localName === "Response"), "Response");
  const ids = elements.flatMap(({ attributes }) =>
    Array.from(attributes).filter(({ localName }) => localName.toLowerCase() === "id").map(({ value }) =>
      value
    )
  );
  if (new Set(ids).size < ids.length) throw new XmlRefused("each id once", "an id that two elements have");
  const signatures = elements.filter(({ localName }) => localName === "Signature");
  for (const signature of signatures) requireUsualSignature(signature, [root, assertion]);
  if (!signatures.some(({ parentNode }) => parentNode === assertion)) {
    throw new XmlRefused(
      "a signed assertion",
      signatures.length > 0 ? "only a signed response" : "no signature",
    );
  }
  return { inResponseTo: root.getAttribute("InResponseTo") || null, root, assertion };
}

/**
 * Verifies the signatures of an answer, and then all that the assertion says. Only the bytes that the signature covers are read for
 * that. The caller must see to it that no `assertionId` is used twice.
 * @param o.requestId the id of the request that was sent @throws SamlRefused
 */
export async function verifySamlAnswer(
  { root, assertion: unverified }: SamlAnswer,
  o: { connection: SamlConnection; service: SamlService; requestId: string; now: Date },
): Promise<SamlIdentity> {
  const verified = async (element: XmlElement): Promise<string> => {
    const signed = await signedText(element, o.connection.certificates);
    if (signed !== null) return signed;
    throw new XmlRefused("a signature by the provider's certificate", `another in the ${element.localName}`);
  };
  if (childrenOf(root, SIGNATURE, "Signature").length > 0) await verified(root);
  const assertion = await parseStrictXml(await verified(unverified));

  const child = (parent: XmlElement, name: string) => only(childrenOf(parent, ASSERTION, name), name);
  const expect = (name: string, expected: string, found: string | null) => {
    if (found !== expected) throw new XmlRefused(`the ${name} ${expected}`, found || "none");
  };
  expect("Issuer", o.connection.entityId, textOf(child(assertion, "Issuer")));
  expect("Destination", o.service.acsUrl, root.getAttribute("Destination") || o.service.acsUrl);
  const subject = child(assertion, "Subject");
  const confirmation = child(subject, "SubjectConfirmation");
  const bearer = child(confirmation, "SubjectConfirmationData");
  expect("Method", `${SAML}:cm:bearer`, confirmation.getAttribute("Method"));
  expect("Recipient", o.service.acsUrl, bearer.getAttribute("Recipient"));
  expect("InResponseTo", o.requestId, bearer.getAttribute("InResponseTo"));
  const conditions = child(assertion, "Conditions");
  const restrictions = childrenOf(conditions, ASSERTION, "AudienceRestriction");
  const audiences = restrictions.map((e) => childrenOf(e, ASSERTION, "Audience").map(textOf));
  if (audiences.length === 0 || audiences.some((names) => !names.includes(o.service.entityId))) {
    throw new XmlRefused(`the Audience ${o.service.entityId}`, audiences.flat().join(", ") || "none");
  }
  const statement = child(assertion, "AuthnStatement");
  const expiresAt = requireTime(
    o.now,
    bearer.getAttribute("NotBefore"),
    bearer.getAttribute("NotOnOrAfter") || "none",
  );
  requireTime(o.now, conditions.getAttribute("NotBefore"), conditions.getAttribute("NotOnOrAfter"));
  requireTime(o.now, null, statement.getAttribute("SessionNotOnOrAfter"));

  const nameId = child(subject, "NameID");
  if (nameId.getAttribute("Format")?.endsWith(":transient")) {
    throw new XmlRefused(
      "a NameID that stays the same, such as persistent or emailAddress",
      "a transient one",
    );
  }
  const attributes = new Map(
    childrenOf(assertion, ASSERTION, "AttributeStatement").flatMap((e) =>
      childrenOf(e, ASSERTION, "Attribute")
    )
      .map((e) => [e.getAttribute("Name") ?? "", childrenOf(e, ASSERTION, "AttributeValue").map(textOf)]),
  );
  const contexts = elementsOf(statement).filter(({ localName }) => localName === "AuthnContextClassRef").map(
    textOf,
  );
  const methods = [...contexts, ...attributes.get(AUTHENTICATION_METHODS) ?? []];
  return {
    subject: textOf(nameId),
    attributes,
    amr: methods.some((method) => SECOND_FACTOR.has(method)) ? ["mfa"] : [],
    assertionId: unverified.getAttribute("ID") ?? "",
    expiresAt,
  };
}

/** Reads the connection from the metadata that a provider publishes. Comments are common there. @throws SamlRefused */
export async function readSamlMetadata(xml: string): Promise<SamlConnection> {
  const [start, ...rest] = xml.trim().split("<!--");
  const texts = rest.map((part) => part.includes("-->") ? part.slice(part.indexOf("-->") + 3) : "<!--");
  const root = await parseStrictXml(withoutDeclaration([start, ...texts].join("")));
  const provider = only(
    elementsOf(root).filter((e) => isNamed(e, METADATA, "IDPSSODescriptor")),
    "IDPSSODescriptor",
  );
  const services = childrenOf(provider, METADATA, "SingleSignOnService");
  const redirect = services.find((e) => e.getAttribute("Binding") === `${SAML}:bindings:HTTP-Redirect`);
  const keys = childrenOf(provider, METADATA, "KeyDescriptor").filter((e) =>
    e.getAttribute("use") !== "encryption"
  );
  const certificates = keys.flatMap(elementsOf).filter((e) => isNamed(e, SIGNATURE, "X509Certificate"));
  const [entityId, signInUrl] = [
    provider.parentNode?.getAttribute("entityID"),
    redirect?.getAttribute("Location"),
  ];
  if (!entityId || !signInUrl || certificates.length === 0) {
    throw new XmlRefused(
      "an entityID, a SingleSignOnService of HTTP-Redirect and a signing certificate",
      "not all",
    );
  }
  return {
    entityId,
    signInUrl,
    certificates: [...new Set(certificates.map((e) => readSamlCertificate(textOf(e))))],
  };
}

/**
 * Reads a certificate in PEM, or its base64 alone. It may be expired: it only carries the key, and providers rarely renew it.
 * @returns PEM @throws SamlRefused
 */
export function readSamlCertificate(given: string): string {
  const expected = `an X.509 certificate with an RSA key of at least ${MIN_KEY_BITS} bits`;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(Buffer.from(given.replace(/-----[A-Z ]+-----|\s+/g, ""), "base64"));
  } catch {
    throw new XmlRefused(expected, "another text");
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  const bits = details?.modulusLength ?? 0;
  if (type !== "rsa" || bits < MIN_KEY_BITS) throw new XmlRefused(expected, `one of ${type} ${bits}`);
  return certificate.toString();
}

const withoutDeclaration = (xml: string): string => xml.replace(/^<\?xml [^<>?]*\?>\s*/, "").trimEnd();

function decoded(base64: string): string {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    throw new XmlRefused("a SAMLResponse in base64", "another text");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    throw new XmlRefused("a text in UTF-8", "other bytes");
  }
}

function requireSuccess(root: XmlElement): void {
  const status = elementsOf(only(childrenOf(root, PROTOCOL, "Status"), "Status"));
  const [first, ...rest] = status.map((e) => e.getAttribute("Value") || textOf(e)).slice(1);
  if (first !== `${SAML}:status:Success`) {
    throw new XmlRefused("the status Success", [first, ...rest].join(" "));
  }
}

/** The parts of a signature that is in its place and of permitted algorithms. */
function partsOf(signature: XmlElement) {
  const part = (parent: XmlElement, name: string) => only(childrenOf(parent, SIGNATURE, name), name);
  const signedInfo = part(signature, "SignedInfo");
  const reference = part(signedInfo, "Reference");
  const transforms = childrenOf(part(reference, "Transforms"), SIGNATURE, "Transform");
  return {
    signedInfo,
    reference,
    transforms,
    canonicalization: part(signedInfo, "CanonicalizationMethod"),
    method: part(signedInfo, "SignatureMethod"),
    digest: part(reference, "DigestMethod"),
    digestValue: textOf(part(reference, "DigestValue")),
    value: textOf(part(signature, "SignatureValue")),
  };
}

/** Checks that a signature is that of its parent, covers it whole, and is of permitted algorithms. */
function requireUsualSignature(signature: XmlElement, signable: XmlElement[]): void {
  const parent = signable.find((e) => e === signature.parentNode);
  if (!parent || !isNamed(signature, SIGNATURE, "Signature")) {
    throw new XmlRefused("signatures directly in the response and in the assertion", "one elsewhere");
  }
  only(childrenOf(parent, SIGNATURE, "Signature"), `Signature of the ${parent.localName}`);
  const { reference, transforms, canonicalization, method, digest } = partsOf(signature);
  const [id, uri] = [parent.getAttribute("ID"), reference.getAttribute("URI")];
  if (!id || uri !== `#${id}`) throw new XmlRefused(`a signature of #${id}`, `one of ${uri}`);
  const permit = (e: XmlElement | undefined, permitted: string[]) => {
    const found = e?.getAttribute("Algorithm") || "none";
    if (!permitted.includes(found)) {
      throw new XmlRefused(`as ${e?.localName} ${permitted.join(" or ")}`, found);
    }
  };
  permit(canonicalization, [EXCLUSIVE]);
  permit(method, Object.keys(SIGNATURE_HASHES));
  permit(digest, Object.keys(DIGEST_HASHES));
  permit(transforms[0], [`${SIGNATURE}enveloped-signature`]);
  permit(transforms[1], [EXCLUSIVE]);
  if (transforms.length > 2) throw new XmlRefused("two transforms", `${transforms.length}`);
}

/**
 * Verifies the usual signature of an element (XML Signature, 3.2). The library's own verification gives the same results with
 * several times the processor time, because it searches the document by XPath some ten times.
 * @returns the canonical text that is signed; null if no certificate verifies it
 */
async function signedText(element: XmlElement, certificates: string[]): Promise<string | null> {
  const { ExclusiveCanonicalization } = await import("xml-crypto/lib/exclusive-canonicalization.js");
  const canonical = (
    original: XmlElement,
    method: XmlElement | undefined,
    left?: (e: XmlElement) => void,
  ): string => {
    const prefixes = method &&
      childrenOf(method, EXCLUSIVE, "InclusiveNamespaces")[0]?.getAttribute("PrefixList");
    const e = original.cloneNode(true);
    left?.(e);
    return new ExclusiveCanonicalization().process(e, {
      inclusiveNamespacesPrefixList: prefixes?.split(/\s+/) ?? [],
      ancestorNamespaces: namespacesAbove(original),
    });
  };
  const ownSignature = (e: XmlElement) => only(childrenOf(e, SIGNATURE, "Signature"), "Signature");
  const { signedInfo, canonicalization, method, transforms, digest, ...values } = partsOf(
    ownSignature(element),
  );
  const content = canonical(element, transforms[1], (e) => e.removeChild(ownSignature(e)));
  const digested = createHash(DIGEST_HASHES[digest.getAttribute("Algorithm") ?? ""] ?? "").update(content)
    .digest("base64");
  if (digested !== values.digestValue) return null;
  const hash = SIGNATURE_HASHES[method.getAttribute("Algorithm") ?? ""] ?? "";
  const [statement, value] = [
    Buffer.from(canonical(signedInfo, canonicalization)),
    Buffer.from(values.value, "base64"),
  ];
  return certificates.some((pem) => verify(hash, statement, pem, value)) ? content : null;
}

/** The namespaces with a prefix that an element has from those around it; the nearest counts. */
function namespacesAbove(e: XmlElement): { prefix: string; namespaceURI: string }[] {
  const found = new Map<string, string>();
  for (let above = e.parentNode; above?.nodeType === 1; above = above.parentNode) {
    for (const { prefix, localName, value } of Array.from(above.attributes)) {
      if (prefix === "xmlns" && !found.has(localName)) found.set(localName, value);
    }
  }
  for (const { prefix, localName } of Array.from(e.attributes)) {
    if (prefix === "xmlns") found.delete(localName);
  }
  return Array.from(found, ([prefix, namespaceURI]) => ({ prefix, namespaceURI }));
}

/** @returns the end, with tolerance */
function requireTime(now: Date, notBefore: string | null, notOnOrAfter: string | null): Date {
  const start = !notBefore ? -Infinity : Date.parse(notBefore) - SKEW_MS;
  const end = !notOnOrAfter ? Infinity : Date.parse(notOnOrAfter) + SKEW_MS;
  if (start <= now.getTime() && now.getTime() < end) return new Date(end);
  throw new XmlRefused(
    `an assertion that is good at ${now.toISOString()}`,
    `one from ${notBefore || "ever"} to ${notOnOrAfter}`,
  );
}
