import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { text } from "./openid.ts";

const NS = {
  protocol: "urn:oasis:names:tc:SAML:2.0:protocol",
  assertion: "urn:oasis:names:tc:SAML:2.0:assertion",
  metadata: "urn:oasis:names:tc:SAML:2.0:metadata",
  signature: "http://www.w3.org/2000/09/xmldsig#",
} as const;
const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
const SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success";
const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";

/** The permitted algorithms of each element of a signature. SHA-1, HMAC and other canonical forms are not among them. */
const ALGORITHMS: ReadonlyMap<string, readonly string[]> = new Map([
  ["CanonicalizationMethod", [EXCLUSIVE]],
  ["Transform", [EXCLUSIVE, `${NS.signature}enveloped-signature`]],
  ["DigestMethod", ["http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmlenc#sha512"]],
  [
    "SignatureMethod",
    ["sha256", "sha512"].map((hash) => `http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`),
  ],
]);

/** Names of attributes that providers commonly use; they apply if the administrator gave none. */
const COMMON_NAMES = {
  email: [
    "email",
    "mail",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
  ],
  firstName: [
    "firstName",
    "givenName",
    "urn:oid:2.5.4.42",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname",
  ],
  lastName: [
    "lastName",
    "sn",
    "surname",
    "urn:oid:2.5.4.4",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname",
  ],
  groups: [],
};

/** Values of a context class, or of Entra's attribute, that say that the provider asked for a second factor. */
const SECOND_FACTOR: ReadonlySet<string> = new Set([
  "https://refeds.org/profile/mfa",
  "http://schemas.microsoft.com/claims/multipleauthn",
  "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract",
  "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered",
]);
const AUTHENTICATION_METHODS = "http://schemas.microsoft.com/claims/authnmethodsreferences";

/** The parser's time grows with the square of these numbers: it needs minutes for 128 KiB of nested elements. */
const MAX_BYTES = 128 * 1024;
const MAX_ELEMENTS = 2000;
const MAX_DEPTH = 32;
/** Tolerated difference between the clocks of the provider and the service. */
const SKEW_MS = 60_000;
const MAX_LIFE_MS = 24 * 60 * 60_000;
const MAX_SUBJECT_LENGTH = 256;
const MIN_KEY_BITS = 2048;

/** The check that an answer failed. */
export type SamlReason =
  | "Malformed"
  | "Encrypted"
  | "Status"
  | "Algorithm"
  | "Unsigned"
  | "Signature"
  | "Issuer"
  | "Destination"
  | "Audience"
  | "Request"
  | "Time"
  | "Subject";

/** Thrown when an answer or a provider's metadata fails a check. The values contain no secrets and may be shown. */
export class SamlRefused extends Error {
  override name = "SamlRefused";
  constructor(readonly reason: SamlReason, readonly expected: string, found: string) {
    super(`expected ${expected}, found ${found.slice(0, 300)}`);
    this.found = found.slice(0, 300);
  }
  readonly found: string;
}

/** A tenant's identity provider. */
export interface SamlConnection {
  entityId: string;
  signInUrl: string;
  /** PEM. An answer must be signed by one of them, so that the provider can change its key. */
  certificates: string[];
}

/** The service as the provider knows it. */
export interface SamlService {
  entityId: string;
  acsUrl: string;
}

/** Names of the attributes of an answer; absent ones have common names, except `groups`. */
export type SamlClaims = Partial<Record<keyof typeof COMMON_NAMES, string>>;

/** The user who signed in, according to the provider. */
export interface SamlIdentity {
  subject: string;
  email: string | null;
  firstName: string;
  lastName: string;
  /** Null if the answer does not say. */
  groups: string[] | null;
  /** `["mfa"]` if the answer says that there was a second factor. */
  amr: string[];
  assertionId: string;
  /** Until then the assertion's id must be remembered, so that it is used once. */
  expiresAt: Date;
}

/** An answer whose form was checked and whose signature was not. */
export interface SamlAnswer {
  /** The id of the request that it claims to answer; null if it is unsolicited. */
  inResponseTo: string | null;
  xml: string;
  root: XmlElement;
  assertion: XmlElement;
}

/** The part of a DOM that this file uses. The types of the parser would add the globals of a browser everywhere. */
interface XmlElement {
  readonly nodeType: number;
  readonly namespaceURI: string | null;
  readonly localName: string;
  readonly parentNode: XmlElement | null;
  readonly childNodes: ArrayLike<XmlElement>;
  readonly attributes: ArrayLike<{ localName: string; value: string }>;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
}

/** The two parts of node-saml that judge an answer. They are loaded at the first use, so that start-up does not pay. */
async function library(): Promise<{
  parseDomFromString(xml: string): Promise<{ documentElement: XmlElement }>;
  getVerifiedXml(xml: string, element: XmlElement, certificates: string[]): string | null;
}> {
  return await import("@node-saml/node-saml/lib/xml.js");
}

async function client(connection: SamlConnection, service: SamlService, requestId: string) {
  const { SAML } = await import("@node-saml/node-saml");
  return new SAML({
    entryPoint: connection.signInUrl,
    idpCert: connection.certificates,
    issuer: service.entityId,
    callbackUrl: service.acsUrl,
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    generateUniqueId: () => requestId,
  });
}

/** The URL where the browser signs in. `requestId` must be an XML name; it comes back as `inResponseTo`. */
export const samlRequestUrl = async (
  connection: SamlConnection,
  service: SamlService,
  requestId: string,
): Promise<string> =>
  await (await client(connection, service, requestId)).getAuthorizeUrlAsync("", undefined, {});

/** The service's metadata, which an administrator gives to the provider. It asks for signed assertions. */
export const samlMetadata = async (connection: SamlConnection, service: SamlService): Promise<string> =>
  (await client(connection, service, "_metadata")).generateServiceProviderMetadata(null, null);

/**
 * Reads an answer and checks its form, before anything is believed: strict XML, one assertion, each id once, signatures
 * only where they belong and of permitted algorithms. So no wrapped, hidden or second assertion reaches the library.
 * @param encoded the form field `SAMLResponse`
 * @throws SamlRefused
 */
export async function readSamlAnswer(encoded: string): Promise<SamlAnswer> {
  const xml = decoded(encoded.replace(/\s+/g, ""));
  const root = await parse(xml);
  requireForm(isNamed(root, "protocol", "Response"), "a Response of SAML 2.0", root.localName);
  const elements = descendants(root);
  const encrypted = elements.find(({ localName }) => localName.startsWith("Encrypted"));
  if (encrypted) {
    throw new SamlRefused("Encrypted", "an assertion that is not encrypted", encrypted.localName);
  }
  requireSuccess(root);
  const assertion = only(elements.filter((e) => e.localName === "Assertion"), "assertion");
  requireForm(
    isNamed(assertion, "assertion", "Assertion") && assertion.parentNode === root &&
      elements.every((e) => e === root || e.localName !== "Response"),
    "the assertion directly in the response",
    "a response with another structure",
  );
  const ids = elements.flatMap((e) =>
    [...Array.from(e.attributes)].filter((a) => a.localName.toLowerCase() === "id").map((a) => a.value)
  );
  requireForm(new Set(ids).size === ids.length, "each id once", "an id that two elements have");
  for (const e of elements) {
    if (e.localName === "Signature") requireUsualSignature(e, [root, assertion]);
  }
  const { signature } = NS;
  if (!elements.some((e) => e.parentNode === assertion && e.localName === "Signature")) {
    const signed = elements.some((e) => e.namespaceURI === signature)
      ? "only a signed response"
      : "no signature";
    throw new SamlRefused("Unsigned", "a signed assertion", signed);
  }
  return { inResponseTo: root.getAttribute("InResponseTo") || null, xml, root, assertion };
}

/**
 * Verifies the signatures of an answer, then everything that the signed assertion says. Only the bytes that the signature
 * covers are read after the verification. The caller must see to it that `assertionId` was not used before.
 * @param o.requestId the id of the request that this browser started
 * @throws SamlRefused
 */
export async function verifySamlAnswer(
  { xml, root, assertion: unverified }: SamlAnswer,
  o: {
    connection: SamlConnection;
    service: SamlService;
    claims: SamlClaims;
    requestId: string;
    now: Date;
  },
): Promise<SamlIdentity> {
  const { getVerifiedXml } = await library();
  const { acsUrl } = o.service;
  const verified = (element: XmlElement): string => {
    const signed = getVerifiedXml(xml, element, o.connection.certificates);
    if (signed !== null) return signed;
    throw new SamlRefused("Signature", "a signature by a certificate of the provider", "another signature");
  };
  if (childrenOf(root, "signature", "Signature").length > 0) verified(root);
  const assertion = await parse(verified(unverified));

  const expect = (reason: SamlReason, expected: string, found: string | null | undefined) => {
    if (found !== expected) throw new SamlRefused(reason, expected, found || "none");
  };
  const destination = root.getAttribute("Destination");
  if (destination) expect("Destination", acsUrl, destination);
  expect("Request", o.requestId, root.getAttribute("InResponseTo"));
  expect("Issuer", o.connection.entityId, textOf(child(assertion, "assertion", "Issuer")));

  const subject = child(assertion, "assertion", "Subject");
  const confirmation = child(subject, "assertion", "SubjectConfirmation");
  expect("Subject", BEARER, confirmation.getAttribute("Method"));
  const bearer = child(confirmation, "assertion", "SubjectConfirmationData");
  expect("Destination", acsUrl, bearer.getAttribute("Recipient"));
  expect("Request", o.requestId, bearer.getAttribute("InResponseTo"));

  const conditions = child(assertion, "assertion", "Conditions");
  const restrictions = childrenOf(conditions, "assertion", "AudienceRestriction");
  const audiences = restrictions.map((r) => childrenOf(r, "assertion", "Audience").map(textOf));
  if (audiences.length === 0 || audiences.some((names) => !names.includes(o.service.entityId))) {
    throw new SamlRefused("Audience", o.service.entityId, audiences.flat().join(", ") || "none");
  }
  const statement = child(assertion, "assertion", "AuthnStatement");
  requireTime(o.now, bearer.getAttribute("NotBefore"), bearer.getAttribute("NotOnOrAfter") ?? "none");
  requireTime(o.now, conditions.getAttribute("NotBefore"), conditions.getAttribute("NotOnOrAfter"));
  requireTime(o.now, null, statement.getAttribute("SessionNotOnOrAfter"));

  const nameId = child(subject, "assertion", "NameID");
  const name = textOf(nameId);
  if (!name || name.length > MAX_SUBJECT_LENGTH || text(name) !== name) {
    throw new SamlRefused("Subject", `a NameID of 1 to ${MAX_SUBJECT_LENGTH} characters`, name || "none");
  }
  if (nameId.getAttribute("Format") === TRANSIENT) {
    throw new SamlRefused("Subject", "a NameID that stays the same, such as persistent", TRANSIENT);
  }
  const attributes = attributesOf(assertion);
  const valuesOf = (claim: keyof typeof COMMON_NAMES): string[] | undefined =>
    (o.claims[claim] ? [o.claims[claim]] : COMMON_NAMES[claim]).map((n) => attributes.get(n)).find((v) => v);
  const contexts = descendants(statement).filter((e) => e.localName === "AuthnContextClassRef").map(textOf);
  const methods = [...contexts, ...attributes.get(AUTHENTICATION_METHODS) ?? []];
  return {
    subject: name,
    email: valuesOf("email")?.[0] || (name.includes("@") ? name : null),
    firstName: valuesOf("firstName")?.[0] ?? "",
    lastName: valuesOf("lastName")?.[0] ?? "",
    groups: valuesOf("groups") ?? null,
    amr: methods.some((method) => SECOND_FACTOR.has(method)) ? ["mfa"] : [],
    assertionId: unverified.getAttribute("ID") ?? "",
    expiresAt: new Date(
      Math.min(Date.parse(bearer.getAttribute("NotOnOrAfter")!) + SKEW_MS, o.now.getTime() + MAX_LIFE_MS),
    ),
  };
}

/**
 * Reads the connection from the metadata that a provider publishes. Comments are common there.
 * @throws SamlRefused
 */
export async function readSamlMetadata(xml: string): Promise<SamlConnection> {
  const [start, ...rest] = xml.split("<!--");
  const withoutComments = rest.map((part) =>
    part.includes("-->") ? part.slice(part.indexOf("-->") + 3) : "<!"
  );
  const elements = descendants(await parse([start, ...withoutComments].join("").trim()));
  const provider = only(
    elements.filter((e) => isNamed(e, "metadata", "IDPSSODescriptor")),
    "IDPSSODescriptor",
  );
  const services = childrenOf(provider, "metadata", "SingleSignOnService");
  const signInUrl = services.find((e) => e.getAttribute("Binding") === REDIRECT)?.getAttribute("Location");
  const entityId = provider.parentNode?.getAttribute("entityID");
  requireForm(!!entityId, "an entityID", "none");
  requireForm(!!signInUrl, `a SingleSignOnService with the binding ${REDIRECT}`, "none");
  const keys = childrenOf(provider, "metadata", "KeyDescriptor").filter((e) =>
    e.getAttribute("use") !== "encryption"
  );
  const certificates = keys.flatMap(descendants).filter((e) => isNamed(e, "signature", "X509Certificate"))
    .map((e) => readSamlCertificate(textOf(e)).pem);
  requireForm(certificates.length > 0, "a signing certificate", "none");
  return { entityId, signInUrl, certificates: [...new Set(certificates)] };
}

/**
 * Reads a provider's certificate: PEM, or its base64 alone. An expired one is good, because providers rarely renew the
 * certificates that they announce themselves.
 * @throws SamlRefused
 */
export function readSamlCertificate(given: string): { pem: string; expiresAt: Date } {
  const expected = `an X.509 certificate with an RSA key of at least ${MIN_KEY_BITS} bits`;
  let certificate: X509Certificate;
  try {
    const base64 = given.replace(/-----[A-Z ]+-----|\s+/g, "");
    certificate = new X509Certificate(Buffer.from(base64, "base64"));
  } catch {
    throw new SamlRefused("Malformed", expected, "a text that is no certificate");
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  requireForm(
    type === "rsa" && (details?.modulusLength ?? 0) >= MIN_KEY_BITS,
    expected,
    `${type} ${details?.modulusLength ?? ""}`,
  );
  const lines = certificate.raw.toString("base64").match(/.{1,64}/g)!.join("\n");
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    expiresAt: new Date(certificate.validTo),
  };
}

function requireForm(isGood: boolean, expected: string, found: string): asserts isGood {
  if (!isGood) throw new SamlRefused("Malformed", expected, found);
}

function decoded(base64: string): string {
  requireForm(/^[A-Za-z0-9+/]+={0,2}$/.test(base64), "a SAMLResponse in base64", "another text");
  requireForm(base64.length * 0.75 <= MAX_BYTES, `at most ${MAX_BYTES} bytes`, `${base64.length * 0.75}`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    throw new SamlRefused("Malformed", "a text in UTF-8", "other bytes");
  }
}

const NAME = "[A-Za-z_][\\w.-]*(?::[A-Za-z_][\\w.-]*)?";
const REFERENCE = "&(?:lt|gt|amp|quot|apos|#\\d{1,7}|#x[\\da-fA-F]{1,6});";
const ATTRIBUTE = `\\s+${NAME}\\s*=\\s*(?:"(?:[^"<&]|${REFERENCE})*"|'(?:[^'<&]|${REFERENCE})*')`;
const TOKEN = new RegExp(`<(/?)(${NAME})(?:${ATTRIBUTE}){0,32}\\s*(/?)>|(?:[^<&]|${REFERENCE})+`, "y");

/**
 * Parses XML that is well-formed and consists only of elements and text: no DOCTYPE, entity, comment, CDATA section or
 * processing instruction. The check runs before the parser, which is lenient and slow with hostile documents.
 */
async function parse(xml: string): Promise<XmlElement> {
  requireForm(xml.length <= MAX_BYTES, `at most ${MAX_BYTES} characters`, `${xml.length}`);
  const body = xml.replace(/^<\?xml [^<>?]*\?>\s*/, "").trimEnd();
  const open: string[] = [];
  let elements = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < body.length) {
    const start = TOKEN.lastIndex;
    const [token, closes, name = "", isEmpty] = TOKEN.exec(body) ?? [];
    requireForm(
      token !== undefined && (start === 0) === (open.length === 0),
      "one XML element of elements and text, without DOCTYPE, comments or CDATA",
      body.slice(start, start + 40),
    );
    if (name && !closes) elements++;
    if (closes) requireForm(open.pop() === name, "balanced elements", `</${name}>`);
    else if (name && !isEmpty) open.push(name);
    requireForm(
      elements <= MAX_ELEMENTS && open.length <= MAX_DEPTH,
      `at most ${MAX_ELEMENTS} elements, at most ${MAX_DEPTH} deep`,
      "more",
    );
  }
  requireForm(elements > 0 && open.length === 0, "a complete XML element", "a part");
  const { parseDomFromString } = await library();
  try {
    return (await parseDomFromString(body)).documentElement;
  } catch {
    throw new SamlRefused("Malformed", "an XML document", "a text that the parser refuses");
  }
}

const ELEMENT = 1;

function descendants(root: XmlElement): XmlElement[] {
  const children = Array.from(root.childNodes).filter(({ nodeType }) => nodeType === ELEMENT);
  return [root, ...children.flatMap(descendants)];
}

const isNamed = (e: XmlElement, namespace: keyof typeof NS, name: string): boolean =>
  e.namespaceURI === NS[namespace] && e.localName === name;

const childrenOf = (parent: XmlElement, namespace: keyof typeof NS, name: string): XmlElement[] =>
  Array.from(parent.childNodes).filter((e) => e.nodeType === ELEMENT && isNamed(e, namespace, name));

const child = (parent: XmlElement, namespace: keyof typeof NS, name: string): XmlElement =>
  only(childrenOf(parent, namespace, name), name);

function only(elements: XmlElement[], name: string): XmlElement {
  const [first] = elements;
  requireForm(first !== undefined && elements.length === 1, `one ${name}`, `${elements.length}`);
  return first;
}

const textOf = (e: XmlElement): string => e.textContent?.trim() ?? "";

function requireSuccess(root: XmlElement): void {
  const status = childrenOf(root, "protocol", "Status")[0];
  const codes = status ? descendants(status).map((e) => e.getAttribute("Value")).filter((v) => v) : [];
  if (codes[0] === SUCCESS) return;
  const message = status ? childrenOf(status, "protocol", "StatusMessage").map(textOf) : [];
  throw new SamlRefused("Status", SUCCESS, [...codes, ...message].join(" ") || "no status");
}

/** Checks that the signature is that of its parent, covers it whole, and is of permitted algorithms. */
function requireUsualSignature(e: XmlElement, signable: XmlElement[]): void {
  const parent = signable.find((element) => element === e.parentNode);
  requireForm(
    isNamed(e, "signature", "Signature") && parent !== undefined &&
      childrenOf(parent, "signature", "Signature").length === 1,
    "one signature in the response and one in the assertion",
    "another signature",
  );
  const parts = descendants(e);
  const reference = only(parts.filter(({ localName }) => localName === "Reference"), "Reference");
  const id = parent.getAttribute("ID");
  requireForm(
    !!id && reference.getAttribute("URI") === `#${id}`,
    `a signature of #${id}`,
    `${reference.getAttribute("URI")}`,
  );
  requireForm(
    parts.every(({ localName }) => localName !== "Object"),
    "a signature without objects",
    "an object",
  );
  for (
    const name of [
      "SignedInfo",
      "CanonicalizationMethod",
      "SignatureMethod",
      "DigestMethod",
      "SignatureValue",
    ]
  ) {
    only(parts.filter(({ localName }) => localName === name), name);
  }
  for (
    const { localName, algorithm } of parts.map((p) => ({
      localName: p.localName,
      algorithm: p.getAttribute("Algorithm"),
    }))
  ) {
    const permitted = ALGORITHMS.get(localName);
    if (permitted?.includes(algorithm ?? "") === false) {
      throw new SamlRefused("Algorithm", permitted.join(" or "), algorithm ?? "none");
    }
  }
}

function requireTime(now: Date, notBefore: string | null, notOnOrAfter: string | null): void {
  const start = notBefore ? Date.parse(notBefore) : -Infinity;
  const end = notOnOrAfter ? Date.parse(notOnOrAfter) : Infinity;
  if (start - SKEW_MS <= now.getTime() && now.getTime() < end + SKEW_MS) return;
  throw new SamlRefused(
    "Time",
    `an assertion that is good at ${now.toISOString()}`,
    `${notBefore} to ${notOnOrAfter}`,
  );
}

/** The values of each attribute by its name. */
function attributesOf(assertion: XmlElement): ReadonlyMap<string, string[]> {
  const all = childrenOf(assertion, "assertion", "AttributeStatement")
    .flatMap((statement) => childrenOf(statement, "assertion", "Attribute"));
  return new Map(
    all.map((e) => [
      e.getAttribute("Name") ?? "",
      childrenOf(e, "assertion", "AttributeValue").map((v) => text(textOf(v))).filter((v) => v),
    ]),
  );
}
