import { Secret, TOTP } from "otpauth";

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
/** Codes of this many steps before and after the current one are accepted. */
const WINDOW = 1;

const generator = (secret: Uint8Array, issuer = "", label = "") =>
  new TOTP({
    issuer,
    label,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    digits: 6,
    period: STEP_SECONDS,
    algorithm: "SHA1", // what every authenticator app supports
  });

/** A new secret for an authenticator app. */
export const newTotpSecret = (): Uint8Array => crypto.getRandomValues(new Uint8Array(SECRET_BYTES));

/** The secret in base32, and the URL of the QR code. @param issuer the name that the authenticator app shows */
export function describeTotp(
  secret: Uint8Array,
  { issuer, email }: { issuer: string; email: string },
): { secret: string; otpauthUrl: string } {
  const totp = generator(secret, issuer, email);
  return { secret: totp.secret.base32, otpauthUrl: totp.toString() };
}

/** The time step whose code this is, among those accepted at `now`; null if the code is wrong. */
export function matchingStep(secret: Uint8Array, code: string, now: Date): number | null {
  const timestamp = now.getTime();
  const delta = generator(secret).validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : Math.floor(timestamp / 1000 / STEP_SECONDS) + delta;
}
