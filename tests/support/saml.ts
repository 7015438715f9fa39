// A SAML provider for tests: its keys and its answers, good ones and forged ones.
import { Buffer } from "node:buffer";
import { signXml } from "@node-saml/node-saml/lib/xml.js";
import { inflateRawSync } from "node:zlib";
export { hasOpenssl } from "../infra/mail/certificates.ts";

/** A key and its certificate, both in PEM. */
export interface SamlKey {
  key: string;
  certificate: string;
}

/** Makes a key and a certificate that announces itself. @param kind what openssl calls it */
export async function makeSamlKey(...kind: string[]): Promise<SamlKey> {
  const args = ["req", "-x509", "-newkey", ...kind.length > 0 ? kind : ["rsa:2048"], "-nodes", "-days", "30"];
  const { stdout, success } = await new Deno.Command("openssl", {
    args: [...args, "-subj", "/CN=Test provider", "-keyout", "-"],
    stderr: "null",
  }).output();
  if (!success) throw new Error("openssl made no certificate");
  const [key = "", certificate = ""] = new TextDecoder().decode(stdout).split(/(?=-----BEGIN CERTIFICATE)/);
  return { key, certificate };
}

/** The parts of an answer that tests change. */
export interface AnswerParts {
  issuer: string;
  acsUrl: string;
  audience: string;
  inResponseTo: string;
  now: Date;
  id?: string;
  destination?: string;
  recipient?: string;
  nameId?: string;
  format?: string;
  method?: string;
  notBefore?: Date;
  notOnOrAfter?: Date;
  sessionNotOnOrAfter?: Date;
  context?: string;
  /** Escaped XML by the names of attributes. */
  attributes?: Record<string, string[]>;
}

const minutes = (now: Date, count: number) => new Date(now.getTime() + count * 60_000);

/** An assertion without a signature. */
export function assertionXml(o: AnswerParts): string {
  const time = (date: Date) => date.toISOString();
  const { id = `_${crypto.randomUUID()}`, notOnOrAfter = minutes(o.now, 5), notBefore = minutes(o.now, -1) } =
    o;
  const session = time(o.sessionNotOnOrAfter ?? minutes(o.now, 600));
  const attributes = Object.entries(o.attributes ?? {}).map(([name, values]) =>
    `<saml:Attribute Name="${name}">${
      values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join("")
    }</saml:Attribute>`
  ).join("");
  return `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${
    time(o.now)
  }"><saml:Issuer>${o.issuer}</saml:Issuer><saml:Subject><saml:NameID Format="${
    o.format ?? "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
  }">${o.nameId ?? "subject-1"}</saml:NameID><saml:SubjectConfirmation Method="${
    o.method ?? "urn:oasis:names:tc:SAML:2.0:cm:bearer"
  }"><saml:SubjectConfirmationData NotOnOrAfter="${time(notOnOrAfter)}" Recipient="${
    o.recipient ?? o.acsUrl
  }" InResponseTo="${o.inResponseTo}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${
    time(notBefore)
  }" NotOnOrAfter="${
    time(notOnOrAfter)
  }"><saml:AudienceRestriction><saml:Audience>${o.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${
    time(o.now)
  }" SessionNotOnOrAfter="${session}"><saml:AuthnContext><saml:AuthnContextClassRef>${
    o.context ?? "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"
  }</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${
    attributes && `<saml:AttributeStatement>${attributes}</saml:AttributeStatement>`
  }</saml:Assertion>`;
}

/** A response without a signature. @param content the assertion @param status the last part of its URN */
export const responseXml = (o: AnswerParts, content: string, status = "Success"): string =>
  `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_${crypto.randomUUID()}" Version="2.0" IssueInstant="${o.now.toISOString()}" Destination="${
    o.destination ?? o.acsUrl
  }" InResponseTo="${o.inResponseTo}"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${o.issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></samlp:Status>${content}</samlp:Response>`;

/** Signs an element of the document by its local name, after its Issuer. */
export function signed(
  xml: string,
  { key }: Pick<SamlKey, "key">,
  name: "Assertion" | "Response",
  hash = "sha256",
): string {
  const element = `//*[local-name()='${name}']`;
  const place = { reference: `${element}/*[local-name()='Issuer']`, action: "after" } as const;
  const algorithms = { signatureAlgorithm: hash, digestAlgorithm: hash } as { signatureAlgorithm: "sha256" };
  return signXml(xml, element, place, { privateKey: key, ...algorithms });
}

/** A response whose assertion is signed. */
export const goodAnswer = (o: AnswerParts, key: SamlKey): string =>
  responseXml(o, signed(assertionXml(o), key, "Assertion"));

export const base64 = (xml: string): string => Buffer.from(xml).toString("base64");

/** The request that a redirect to the provider carries. */
export function requestOf(location: string): { id: string; xml: string } {
  const encoded = new URL(location).searchParams.get("SAMLRequest") ?? "";
  const xml = inflateRawSync(Buffer.from(encoded, "base64")).toString();
  return { id: /ID="([^"]+)"/.exec(xml)?.[1] ?? "", xml };
}

/** The signature of a signed document, and the rest without it. */
export function takeSignature(xml: string): { signature: string; rest: string } {
  const start = xml.indexOf("<Signature");
  const end = xml.indexOf("</Signature>") + "</Signature>".length;
  return { signature: xml.slice(start, end), rest: xml.slice(0, start) + xml.slice(end) };
}
