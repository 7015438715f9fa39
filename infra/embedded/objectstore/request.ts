/** A request with its undecoded path, which the signature needs, and with the parts that S3 reads from it. */
export interface S3Request {
  method: string;
  rawPath: string;
  /** Decoded names and values, in the order sent, with duplicates. */
  query: readonly (readonly [name: string, value: string])[];
  headers: Headers;
  body: ReadableStream<Uint8Array> | null;
  /** Empty for requests about the service itself. */
  bucket: string;
  /** Empty for requests about the bucket. */
  key: string;
}

/**
 * Parses path-style requests (`/bucket/key`) and, for hosts below `.localhost`, virtual-host requests
 * (`bucket.localhost`). The path is not normalised: `..` and `//` are ordinary parts of a key.
 * Throws InvalidURI, KeyTooLongError.
 */
export function readRequest(request: Request): S3Request {
  const url = request.url;
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const target = start < 0 ? "/" : url.slice(start);
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = (mark < 0 ? "" : target.slice(mark + 1)).split("&").filter((pair) => pair !== "").map(
    (pair) => {
      const equals = pair.indexOf("=");
      const [name, value] = equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
      return [decode(name), decode(value)] as const;
    },
  );
  const { bucket, key } = readAddress(request.headers.get("host") ?? "", rawPath);
  if (new TextEncoder().encode(key).length > 1024) throw new S3Problem("KeyTooLongError");
  return {
    method: request.method,
    rawPath,
    query,
    headers: request.headers,
    body: request.body,
    bucket,
    key,
  };
}

/** The value of a query parameter; "" if it has no value, null if it is absent. */
export function param(request: S3Request, name: string): string | null {
  return request.query.find(([given]) => given === name)?.[1] ?? null;
}

/** Percent-decodes strictly: `+` stays a plus sign, and bytes that are not UTF-8 are refused. Throws InvalidURI. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Problem("InvalidURI");
  }
}

function readAddress(host: string, rawPath: string): { bucket: string; key: string } {
  const virtual = /^(.+)\.localhost(?::\d+)?$/i.exec(host)?.[1];
  const path = decode(rawPath.slice(1));
  if (virtual) return { bucket: virtual.toLowerCase(), key: path };
  const slash = path.indexOf("/");
  if (slash < 0) return { bucket: path, key: "" };
  return { bucket: path.slice(0, slash), key: path.slice(slash + 1) };
}

const CATALOGUE = {
  AccessDenied: [403, "Access Denied"],
  AccessForbidden: [403, "CORSResponse: this origin is not allowed"],
  AuthorizationHeaderMalformed: [403, "The authorization header is malformed"],
  AuthorizationQueryParametersError: [403, "The authorization query parameters are malformed"],
  BadRequest: [400, "The request is not one this store understands"],
  BucketAlreadyOwnedByYou: [409, "The bucket you tried to create already exists, and you own it"],
  EntityTooSmall: [400, "A part but the last is smaller than the minimum of 5 MiB"],
  IncompleteBody: [400, "You did not provide the number of bytes specified by the Content-Length header"],
  InternalError: [500, "We encountered an internal error; please try again"],
  InvalidAccessKeyId: [403, "The access key id you provided does not exist in our records"],
  InvalidArgument: [400, "Invalid argument"],
  InvalidBucketName: [400, "The specified bucket is not valid"],
  InvalidPart: [400, "One or more of the specified parts could not be found, or its ETag did not match"],
  InvalidPartOrder: [400, "The list of parts was not in ascending order"],
  InvalidRange: [416, "The requested range is not satisfiable"],
  InvalidRequest: [400, "The request is not valid"],
  InvalidURI: [400, "The path or query could not be decoded as UTF-8"],
  KeyTooLongError: [400, "The key is longer than 1024 bytes"],
  MalformedXML: [400, "The XML you provided was not well-formed or did not validate"],
  MethodNotAllowed: [405, "The specified method is not allowed against this resource"],
  MissingContentLength: [411, "You must provide the Content-Length HTTP header"],
  EntityTooLarge: [400, "The body is larger than the maximum allowed"],
  NoSuchBucket: [404, "The specified bucket does not exist"],
  NoSuchKey: [404, "The specified key does not exist"],
  NoSuchUpload: [404, "The specified multipart upload does not exist"],
  NotImplemented: [501, "The request implies functionality that is not implemented"],
  PreconditionFailed: [412, "At least one of the preconditions you specified did not hold"],
  RequestTimeTooSkewed: [403, "The difference between the request time and the server's time is too large"],
  SignatureDoesNotMatch: [
    403,
    "The request signature we calculated does not match the signature you provided",
  ],
  XAmzContentSHA256Mismatch: [
    400,
    "The provided x-amz-content-sha256 header does not match what was computed",
  ],
} as const satisfies Record<string, readonly [status: number, message: string]>;

type S3Code = keyof typeof CATALOGUE;

/** An error answer of S3. `message` replaces the default text of the code. */
export class S3Problem extends Error {
  override name = "S3Problem";
  readonly status: number;
  constructor(readonly code: S3Code, message?: string, readonly headers: Record<string, string> = {}) {
    super(message ?? CATALOGUE[code][1]);
    this.status = CATALOGUE[code][0];
  }
}
