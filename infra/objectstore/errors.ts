/**
 * A failure of the object store. Messages contain no object key, bucket, host or credential. There is no `cause`,
 * because network errors of the runtime contain the full URL. So these errors may be logged unchanged.
 */
export class ObjectStoreError extends Error {
  override name = "ObjectStoreError";
}

/** The store gave no usable answer: network failure, timeout, 5xx or throttling. A later retry may succeed. */
export class ObjectStoreUnavailable extends ObjectStoreError {
  override name = "ObjectStoreUnavailable";
}

/** Codes of refusals that are about the credentials or the bucket although their status is neither 401 nor 403. */
const ABOUT_ACCESS = new Set([
  "NoSuchBucket",
  "ExpiredToken",
  "InvalidToken",
  "AuthorizationHeaderMalformed",
]);

/** The store refused the request: wrong credentials, a missing bucket, an invalid argument. */
export class ObjectStoreRefused extends ObjectStoreError {
  override name = "ObjectStoreRefused";
  /** True if the refusal is about the credentials, the clock or the bucket: other requests are refused too. */
  readonly isAboutAccess: boolean;
  /** Status and code. nodemailer overwrites `code` when the content of a mail fails. */
  readonly answer: string;
  constructor(message: string, readonly status: number, readonly code: string) {
    super(message);
    this.isAboutAccess = status === 401 || status === 403 || ABOUT_ACCESS.has(code);
    this.answer = `${status} ${code}`;
  }
}

/** Is the store away as a whole? It does not answer, or refuses the service's credentials or bucket. */
export const isStoreAway = (error: unknown): error is ObjectStoreError =>
  error instanceof ObjectStoreUnavailable || error instanceof ObjectStoreRefused && error.isAboutAccess;

/** There is no object under the key. */
export class ObjectNotFound extends ObjectStoreError {
  override name = "ObjectNotFound";
}

/** The object under the key has another ETag than the caller expects. */
export class ObjectChanged extends ObjectStoreError {
  override name = "ObjectChanged";
}

const THROTTLED = new Set(["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"]);

/**
 * Converts an unexpected answer of the store into a typed error.
 * @param action the attempted action, such as "reading an object"
 * @param code the store's error code; left out of the message if it is not a plain word
 */
export function errorOfAnswer(
  action: string,
  expected: number,
  status: number,
  code: string,
): ObjectStoreError {
  const word = /^[A-Za-z0-9]{1,60}$/.test(code) ? code : "(no code)";
  const message = `${action}: the object store answered ${status} ${word}, expected ${expected}`;
  if (status >= 500 && status !== 501 || status === 429 || THROTTLED.has(code)) {
    return new ObjectStoreUnavailable(message);
  }
  if (status === 412) return new ObjectChanged(message);
  if (status === 404 && code !== "NoSuchBucket" && code !== "NoSuchUpload") {
    return new ObjectNotFound(message);
  }
  return new ObjectStoreRefused(message, status, word);
}

const NETWORK_REASONS: readonly (readonly [RegExp, string])[] = [
  [/refused/i, "the connection was refused"],
  [/dns|lookup|enotfound/i, "the host name was not found"],
  [/certificate|tls|ssl/i, "the TLS handshake failed"],
  [/unreach|no route/i, "the network is unreachable"],
  [/reset|closed|broken pipe|epipe|hang up|aborted|eof|incomplete|body/i, "the connection was cut off"],
];

/**
 * Converts an error of `fetch`, node:http or a body stream into a typed error with the reason but without the address.
 */
export function errorOfNetwork(action: string, thrown: unknown): ObjectStoreUnavailable {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const messages = [thrown, cause].map((error) => error instanceof Error ? error.message : "");
  const text = messages.join(" ").replaceAll(/\(?https?:\/\/\S+/g, "");
  const reason = NETWORK_REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? "the network failed";
  return new ObjectStoreUnavailable(`${action}: no answer from the object store: ${reason}`);
}
