// Passkeys (WebAuthn). The library is loaded with the first passkey, so the service starts without it.
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { Buffer } from "node:buffer";

const library = () => import("@simplewebauthn/server");

export type PasskeyAnswer = AuthenticationResponseJSON;
export type NewPasskeyAnswer = RegistrationResponseJSON;
export type PasskeyRequest = PublicKeyCredentialRequestOptionsJSON;
export type NewPasskeyRequest = PublicKeyCredentialCreationOptionsJSON;

/** COSE: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;

/** Thrown if the answer of a passkey fails a check. */
export class PasskeyRefused extends Error {
  override name = "PasskeyRefused";
}

/** The site that passkeys belong to. */
export interface RelyingParty {
  id: string;
  origin: string;
}

/**
 * The site of a public URL; null if its host is an IP address, which browsers refuse. A loopback address counts as
 * `localhost`, so that passkeys work in development.
 */
export function relyingParty(baseUrl: string): RelyingParty | null {
  const { hostname, origin, protocol, port } = new URL(baseUrl);
  if (["127.0.0.1", "[::1]"].includes(hostname)) {
    return { id: "localhost", origin: `${protocol}//localhost${port ? `:${port}` : ""}` };
  }
  return /^[\d.]+$|^\[/.test(hostname) ? null : { id: hostname, origin };
}

/** A stored passkey. */
export interface StoredPasskey {
  credentialId: Uint8Array;
  publicKey: Uint8Array;
  signCount: number;
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");

/** The WebAuthn options with which the browser creates a passkey. It verifies the user and is found without a user name. */
export async function newPasskeyRequest(o: {
  site: RelyingParty;
  siteName: string;
  challenge: string;
  user: { id: string; email: string; name: string };
  known: { credentialId: Uint8Array; transports: string[] }[];
}): Promise<NewPasskeyRequest> {
  const { generateRegistrationOptions } = await library();
  return await generateRegistrationOptions({
    rpName: o.siteName,
    rpID: o.site.id,
    userName: o.user.email,
    userDisplayName: o.user.name,
    userID: new TextEncoder().encode(o.user.id),
    challenge: Buffer.from(o.challenge, "base64url"),
    timeout: TIMEOUT_MS,
    attestationType: "none",
    excludeCredentials: o.known.map(({ credentialId, transports }) => ({
      id: base64url(credentialId),
      transports,
    })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** The WebAuthn options with which the browser signs in by a passkey. If `known` is empty, any passkey of the site is accepted. */
export async function passkeyRequest(o: {
  site: RelyingParty;
  challenge: string;
  known: { credentialId: Uint8Array; transports: string[] }[];
}): Promise<PasskeyRequest> {
  const { generateAuthenticationOptions } = await library();
  return await generateAuthenticationOptions({
    rpID: o.site.id,
    challenge: Buffer.from(o.challenge, "base64url"),
    timeout: TIMEOUT_MS,
    userVerification: "required",
    allowCredentials: o.known.map(({ credentialId, transports }) => ({
      id: base64url(credentialId),
      transports,
    })),
  });
}

/** The challenge that an answer claims to answer; "" if it cannot be read. */
export function answeredChallenge(answer: { response: { clientDataJSON: string } }): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(answer.response.clientDataJSON, "base64url").toString());
    return typeof challenge === "string" ? challenge : "";
  } catch {
    return "";
  }
}

const expectedOf = (site: RelyingParty, challenge: string) => ({
  expectedChallenge: challenge,
  expectedOrigin: site.origin,
  expectedRPID: site.id,
  requireUserVerification: true,
});

/** Verifies the answer to `newPasskeyRequest`. @throws PasskeyRefused */
export async function verifyNewPasskey(
  answer: NewPasskeyAnswer,
  { site, challenge }: { site: RelyingParty; challenge: string },
): Promise<StoredPasskey & { isSynced: boolean }> {
  const { verifyRegistrationResponse } = await library();
  const { registrationInfo } = await checked(async () => {
    await requireNoCertificates(answer);
    return await verifyRegistrationResponse({
      response: answer,
      ...expectedOf(site, challenge),
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  if (!registrationInfo) throw new PasskeyRefused("the signature is wrong");
  const { credential, credentialDeviceType } = registrationInfo;
  return {
    credentialId: Buffer.from(credential.id, "base64url"),
    publicKey: credential.publicKey,
    signCount: credential.counter,
    isSynced: credentialDeviceType === "multiDevice",
  };
}

/** No attestation is requested. One with certificates would make the library fetch URLs that the client chose. */
async function requireNoCertificates({ response }: NewPasskeyAnswer): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const attestation = decodeAttestationObject(
    new Uint8Array(Buffer.from(response.attestationObject, "base64url")),
  );
  const format = attestation.get("fmt");
  if (format === "none" || format === "packed" && attestation.get("attStmt").get("x5c") === undefined) return;
  throw new PasskeyRefused(`the attestation is of the format ${format}; none was requested`);
}

/**
 * Verifies the answer of a stored passkey: challenge, origin, site, user verification, signature, and that the signature
 * counter increased.
 * @returns the new signature counter.
 * @throws PasskeyRefused
 */
export async function verifyPasskey(
  answer: PasskeyAnswer,
  { site, challenge, stored }: { site: RelyingParty; challenge: string; stored: StoredPasskey },
): Promise<number> {
  const { verifyAuthenticationResponse } = await library();
  const { verified, authenticationInfo } = await checked(() =>
    verifyAuthenticationResponse({
      response: answer,
      ...expectedOf(site, challenge),
      credential: {
        id: base64url(stored.credentialId),
        publicKey: new Uint8Array(stored.publicKey),
        counter: stored.signCount,
      },
    })
  );
  if (!verified) throw new PasskeyRefused("the signature is wrong");
  return authenticationInfo.newCounter;
}

/** Runs a check of the library, which throws plain errors for every answer that fails. @throws PasskeyRefused */
async function checked<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (cause) {
    throw cause instanceof PasskeyRefused ? cause : new PasskeyRefused((cause as Error).message, { cause });
  }
}
