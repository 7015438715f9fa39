import { isoCBOR } from "@simplewebauthn/server/helpers";
import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const FLAGS = { userPresent: 0x01, userVerified: 0x04, hasCredential: 0x40 };
const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();

/** What a test may make wrong in an answer. */
export interface Faults {
  origin?: string;
  site?: string;
  challenge?: string;
  isUserVerified?: boolean;
  /** The signature counter; by default it increases with each answer. */
  counter?: number;
}

interface Options {
  challenge?: unknown;
  user?: { id: string };
}

/** An authenticator with one passkey (ES256), as a browser without Chromium would use it. */
export class TestAuthenticator {
  readonly credentialId = randomBytes(32);
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  #counter = 0;
  #userHandle = "";

  constructor(readonly origin: string) {}

  /** The answer to options for a new passkey, as `toJSON()` of the browser. */
  create(options: Options, faults: Faults = {}, attestation: [string, unknown] = ["none", new Map()]) {
    this.#userHandle = options.user?.id ?? "";
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const publicKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, new Uint8Array(Buffer.from(x, "base64url"))],
        [-3, new Uint8Array(Buffer.from(y, "base64url"))],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, this.credentialId, publicKey]);
    const authData = new Uint8Array(this.#data(faults, credential));
    const attestationObject = isoCBOR.encode(
      // deno-lint-ignore no-explicit-any -- the encoder's type of a value is not exported
      new Map<string, any>([["fmt", attestation[0]], ["attStmt", attestation[1]], ["authData", authData]]),
    );
    return this.#credential({
      clientDataJSON: this.#clientData("webauthn.create", options, faults).toString("base64url"),
      attestationObject: Buffer.from(attestationObject).toString("base64url"),
      transports: ["internal"],
    });
  }

  /** The answer to options for a sign-in or step-up. */
  get(options: Options, faults: Faults = {}) {
    const data = this.#data(faults);
    const clientData = this.#clientData("webauthn.get", options, faults);
    const signature = sign("sha256", Buffer.concat([data, sha256(clientData)]), this.#keys.privateKey);
    return this.#credential({
      clientDataJSON: clientData.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: signature.toString("base64url"),
      ...this.#userHandle ? { userHandle: this.#userHandle } : {},
    });
  }

  #credential<R>(response: R) {
    const id = this.credentialId.toString("base64url");
    return { id, rawId: id, type: "public-key", response, clientExtensionResults: {} };
  }

  #clientData(type: string, options: Options, faults: Faults): Buffer {
    const challenge = faults.challenge ?? options.challenge;
    const origin = faults.origin ?? this.origin;
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  #data({ site, isUserVerified = true, counter }: Faults, credential?: Buffer): Buffer {
    const flags = FLAGS.userPresent | (isUserVerified ? FLAGS.userVerified : 0) |
      (credential ? FLAGS.hasCredential : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? ++this.#counter);
    const siteHash = sha256(site ?? new URL(this.origin).hostname);
    return Buffer.concat([siteHash, Buffer.of(flags), count, credential ?? Buffer.alloc(0)]);
  }
}
