const CATALOGUE = {
  AccessDenied: [403, "Access Denied"],
  AccessForbidden: [403, "CORSResponse: this origin is not allowed"],
  AuthorizationHeaderMalformed: [403, "The authorization header is malformed"],
  AuthorizationQueryParametersError: [403, "The authorization query parameters are malformed"],
  BadDigest: [400, "The Content-MD5 you specified did not match what we received"],
  BadRequest: [400, "The request is not one this store understands"],
  BucketAlreadyOwnedByYou: [409, "The bucket you tried to create already exists, and you own it"],
  BucketNotEmpty: [409, "The bucket you tried to delete is not empty"],
  EntityTooSmall: [400, "A part but the last is smaller than the minimum of 5 MiB"],
  IncompleteBody: [400, "You did not provide the number of bytes specified by the Content-Length header"],
  InternalError: [500, "We encountered an internal error; please try again"],
  InvalidAccessKeyId: [403, "The access key id you provided does not exist in our records"],
  InvalidArgument: [400, "Invalid argument"],
  InvalidBucketName: [400, "The specified bucket is not valid"],
  InvalidDigest: [400, "The Content-MD5 or checksum value that you specified is not valid"],
  InvalidPart: [400, "One or more of the specified parts could not be found, or its ETag did not match"],
  InvalidPartOrder: [400, "The list of parts was not in ascending order"],
  InvalidRange: [416, "The requested range is not satisfiable"],
  InvalidRequest: [400, "The request is not valid"],
  InvalidURI: [400, "The path or query could not be decoded as UTF-8"],
  KeyTooLongError: [400, "The key is longer than 1024 bytes"],
  MalformedXML: [400, "The XML you provided was not well-formed or did not validate"],
  MetadataTooLarge: [400, "Your metadata headers exceed the maximum allowed size of 2 KiB"],
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

export type S3Code = keyof typeof CATALOGUE;

/** An error answer of S3. `message` replaces the default text of the code. */
export class S3Problem extends Error {
  override name = "S3Problem";
  readonly status: number;
  constructor(readonly code: S3Code, message?: string, readonly headers: Record<string, string> = {}) {
    super(message ?? CATALOGUE[code][1]);
    this.status = CATALOGUE[code][0];
  }
}
