import { isIP } from "node:net";

/** The settings of one SMTP server, parsed from SMTP_URL. Times are in milliseconds. */
export interface SmtpSettings {
  host: string;
  port: number;
  /** TLS from the first byte (smtps). */
  secure: boolean;
  /** Requires STARTTLS. Default: true if a password would otherwise be sent unencrypted to another machine. */
  requireTLS: boolean;
  auth: { user: string; pass: string } | null;
  /** Host name sent in EHLO. */
  name: string | undefined;
  maxConnections: number;
  maxMessages: number;
  connectionTimeout: number;
  greetingTimeout: number;
  socketTimeout: number;
  sendTimeout: number;
}

const NUMBERS = {
  maxConnections: { byDefault: 5, max: 100 },
  maxMessages: { byDefault: 100, max: 100_000 },
  connectionTimeout: { byDefault: 10_000, max: 600_000 },
  greetingTimeout: { byDefault: 10_000, max: 600_000 },
  socketTimeout: { byDefault: 60_000, max: 600_000 },
  sendTimeout: { byDefault: 300_000, max: 3_600_000 },
};
type NumberName = keyof typeof NUMBERS;
const KNOWN = ["requireTLS", "name", ...Object.keys(NUMBERS)];

/**
 * Parses `smtp://user:pass@host:587?requireTLS=true&maxConnections=5` or `smtps://…`. Default ports are 587 and 465. User
 * and password are percent-encoded. Throws an Error that names the setting but not the URL, because it has a password.
 */
export function parseSmtpUrl(text: string): SmtpSettings {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "smtp:" && url.protocol !== "smtps:") || url.hostname === "") {
    throw new Error("SMTP_URL is not valid: expected smtp://host:port or smtps://host:port");
  }
  const unknown = [...url.searchParams.keys()].find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) {
    throw new Error(
      `SMTP_URL has the unknown parameter \`${unknown}\`; the parameters are ${KNOWN.join(", ")}`,
    );
  }
  const secure = url.protocol === "smtps:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const auth = url.username === "" ? null : { user: decoded(url.username), pass: decoded(url.password) };
  const wanted = url.searchParams.get("requireTLS");
  if (wanted !== null && wanted !== "true" && wanted !== "false") {
    throw new Error(`SMTP_URL has requireTLS=${wanted.slice(0, 20)}, expected true or false`);
  }
  const numbers = Object.fromEntries(
    Object.keys(NUMBERS).map((key) => [key, numberIn(url, key as NumberName)]),
  );
  return {
    host,
    secure,
    auth,
    ...numbers as Record<NumberName, number>,
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    requireTLS: wanted === null ? auth !== null && !secure && !isLoopback(host) : wanted === "true",
    name: url.searchParams.get("name") ?? undefined,
  };
}

function numberIn(url: URL, key: NumberName): number {
  const { byDefault, max } = NUMBERS[key];
  const text = url.searchParams.get(key);
  const value = text === null ? byDefault : Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new Error(`SMTP_URL has ${key}=${text?.slice(0, 20)}, expected a whole number from 1 to ${max}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("SMTP_URL has a user or password with invalid percent-encoding");
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || (isIP(host) === 4 && host.startsWith("127.")) || host === "::1";
}
