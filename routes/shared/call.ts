import { withTimeout } from "../../infra/timeout.ts";
import type { z } from "zod";
import { type FieldErrors, invalid, Problem, problem } from "../../domain/problems/problem.ts";
import { addressKey } from "../../domain/access/sign_in/address.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { Holding, type RunningRequests } from "../../domain/requests/running_requests.ts";
import type { Quota } from "../../domain/requests/rate_limit.ts";
import { hasLongNumber, lostDigits, parseExactly } from "../../domain/shared/exact_json.ts";
import { decodeInTurns, nextTurn } from "../../domain/shared/in_turns.ts";
import { MAX_DEPTH, requireShallow, requireStorableText } from "../../domain/shared/storable.ts";
import { leaveOutNulls, type Shape, shapeOf, type UnknownMembers, unknownMembers } from "./body_members.ts";
import { fieldErrors } from "./validation.ts";

export const BODY_LIMIT = 1024 * 1024;

/** Limits the bodies that arrive and their bytes in memory. `receive` and `takeBytes` throw INSTANCE_BUSY_UNAVAILABLE at the limit. */
export type BodyRoom = Pick<RunningRequests, "receive" | "takeBytes" | "releaseBytes">;

export interface BodyLimits {
  /** Maximum size. */
  bytes: number;
  /** Time within which it must arrive. */
  milliseconds: number;
  room: BodyRoom;
}

const noShape = () => null;

/** One request: its trace id, client address, and its body, which is read on demand. */
export class Call {
  /** The caller who sent it; null if the caller is unknown or the route needs none. */
  caller: Caller | null = null;
  /** The remaining quota of its caller, if requests are limited. */
  quota: Quota | null = null;
  /** Unknown members of its body, as `tenants[0].colour`. */
  readonly ignoredMembers = new Set<string>();
  /** The resources of the instance that the request occupies. */
  readonly holding: Holding;
  /** True if X-Tenant-ID names another tenant than the token. The token decides. */
  ignoresTenantHeader = false;
  /** Bytes of its body; 0 if none has arrived. */
  bodySize = 0;
  #url: URL | undefined;
  #text = "";
  #bytes: Promise<Uint8Array<ArrayBuffer>> | undefined;
  #ending: AbortController | undefined;

  constructor(
    readonly request: Request,
    readonly traceId: string,
    readonly ip: string | null,
    private readonly limits: BodyLimits,
    private readonly answered: () => Shape | null = noShape,
  ) {
    this.holding = new Holding(addressKey(ip));
  }

  /** Aborted at the time limit of the request. Its answer is not used after that. */
  get signal(): AbortSignal {
    return (this.#ending ??= new AbortController()).signal;
  }

  abort(reason: unknown): void {
    (this.#ending ??= new AbortController()).abort(reason);
  }

  /** Path and query of the request, parsed on demand. The host is fixed, because the Host header is not trusted. */
  get url(): URL {
    const { url } = this.request;
    return this.#url ??= new URL(
      `http://steward.invalid${url.slice(url.indexOf("/", url.indexOf("//") + 2))}`,
    );
  }

  /** The If-Match header; null if the change does not depend on a version. */
  get ifMatch(): string | null {
    return this.request.headers.get("if-match");
  }

  /**
   * Reads and validates a JSON body.
   * @param o.optional an absent body or `null` counts as `{}`
   * @param o.anyText skips the check for text that the database cannot store; the route does it
   * @param o.exactNumbers accepts numbers that a double does not hold; the route reads them from `exactBody`
   * @throws VALIDATION_ERROR, UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE
   */
  async readJson<S extends z.ZodType>(
    schema: S,
    o: { optional?: boolean | undefined; anyText?: boolean; exactNumbers?: boolean | undefined } = {},
  ): Promise<z.output<S>> {
    const { optional = false, anyText = false, exactNumbers = false } = o;
    const bytes = await this.readBytes("application/json", optional);
    const isLarge = bytes.length > BODY_LIMIT;
    let raw: string;
    let value: unknown;
    try {
      raw = isLarge ? await decodeInTurns(bytes) : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      value = raw.trim() === "" && optional ? {} : JSON.parse(raw);
      this.#text = raw;
      if (optional) value ??= {};
    } catch (error) {
      throw invalid({ body: [`expected a JSON document in UTF-8: ${(error as Error).message}`] });
    }
    if (isLarge) await nextTurn();
    if (raw.length > 2 * MAX_DEPTH) requireShallow(value);
    if (isLarge) await nextTurn();
    if (!anyText && (raw.includes("\\u") || raw.includes("\0"))) requireStorableText(value);
    const lost = exactNumbers ? null : lostDigits(this.exactBody());
    if (lost) throw invalid({ [lost.path.join(".") || "body"]: [lost.mistake] });
    if (this.request.method === "PUT") leaveOutNulls(schema, value);
    return this.parseBody(schema, value);
  }

  /** The names of the body's members that are not null. */
  givenMembers(): string[] {
    const members = Object.entries<unknown>(JSON.parse(this.#text.trim() || "{}") ?? {});
    return members.flatMap(([name, value]) => value === null ? [] : [name]);
  }

  /** The body with its numbers as they were written, for members that hold any JSON; null if they already are. */
  exactBody(): unknown {
    return hasLongNumber(this.#text) ? parseExactly(this.#text) : null;
  }

  /**
   * Validates `value`, whose path in the body is `at`. Records ignored members.
   * @throws VALIDATION_ERROR by field, also for an unknown member that looks like a known one
   */
  parseBody<S extends z.ZodType>(schema: S, value: unknown, at: (string | number)[] = []): z.output<S> {
    return parseMembers(schema, value, this.findUnknownMembers(schema, value, at));
  }

  /** Validates a query like `parseBody`. */
  parseQuery<S extends z.ZodType>(schema: S, query: unknown): z.output<S> {
    return parseMembers(schema, query, this.#ignoreUnknown(unknownMembers(schema, query)));
  }

  /** Returns errors for unknown members of `value` that look like known ones. Records the others as ignored. */
  findUnknownMembers(schema: z.ZodType, value: unknown, at: (string | number)[] = []): FieldErrors {
    return this.#ignoreUnknown(unknownMembers(schema, value, at, this.answered));
  }

  #ignoreUnknown({ errors, ignored }: UnknownMembers): FieldErrors {
    for (const name of ignored) this.ignoredMembers.add(name);
    return errors;
  }

  /**
   * Checks the JSON text of the member `field` for unknown members, like `parseBody`. Skips text that is not JSON.
   * @param at path of the object with the text in the body
   * @throws VALIDATION_ERROR for an unknown member that looks like a known one
   */
  requireKnownMembers(schema: z.ZodType, text: string, field: string, at: (string | number)[] = []): void {
    if (shapeOf(schema) === null) return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    const errors = Object.entries(this.findUnknownMembers(schema, value, [...at, field]));
    if (errors.length > 0) {
      throw invalid(Object.fromEntries(errors.map(([path, messages]) => [`${field}.${path}`, messages])));
    }
  }

  /** Reads one file part of a multipart body. @throws VALIDATION_ERROR, UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE */
  async readFile(part: string): Promise<{ fileName: string; bytes: Uint8Array<ArrayBuffer> }> {
    const contentType = this.request.headers.get("content-type") ?? "";
    const bytes = await this.readBytes("multipart/form-data", false);
    let form: FormData;
    try {
      form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
    } catch (error) {
      throw invalid({ body: [`expected a multipart/form-data document: ${(error as Error).message}`] });
    }
    const file = form.get(part);
    if (!(file instanceof File)) throw invalid({ [part]: ["expected a file part of this name"] });
    return { fileName: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  }

  /** Reads a form (application/x-www-form-urlencoded). @throws UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, VALIDATION_ERROR */
  async readForm(): Promise<URLSearchParams> {
    const bytes = await this.readBytes("application/x-www-form-urlencoded", false);
    try {
      return new URLSearchParams(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      throw invalid({ body: ["expected a form in UTF-8"] });
    }
  }

  /** Reads a raw body of one of these content types. @throws UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE */
  async readContent(types: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
    const given = this.request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    const isOther = given !== "" && !types.includes(given);
    if (isOther) throw unreadable("Content-Type", given, types.join(" or "));
    return await this.readBytes(given || types.join(" or "), false);
  }

  /** The size of the body in bytes by its Content-Length; without that header, the maximum size. */
  get declaredSize(): number {
    const { headers, body } = this.request;
    const declared = headers.get("content-length");
    return body === null ? 0 : declared === null ? this.limits.bytes : Number(declared);
  }

  /** The raw body, read once. @throws BODY_TOO_LARGE, BODY_TIMED_OUT, VALIDATION_ERROR if it is incomplete */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes ??= this.#read();
  }

  async #read(): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = this.request;
    if (this.declaredSize > this.limits.bytes) throw tooLarge(this.limits.bytes);
    if (!body) return new Uint8Array();
    const { room } = this.limits;
    const hold = (bytes: number) => room.takeBytes(this.holding, bytes);
    const bytes = await room.receive(this.holding, () => readWithin(body, this.limits, hold));
    this.bodySize = bytes.length;
    return bytes;
  }

  /** Releases the memory of the body. Call it when the body is not needed any more. */
  releaseBody(): void {
    this.limits.room.releaseBytes(this.holding);
  }

  private async readBytes(expectedType: string, optional: boolean): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.bytes();
    if (bytes.length === 0 && optional) return bytes;
    const { headers } = this.request;
    if (bytes.length === 0 && !headers.has("content-type")) {
      throw invalid({ body: [`expected ${expectedType}, found no body`] });
    }
    const [type = "", ...parameters] = headers.get("content-type")?.toLowerCase().split(";") ?? [];
    const contentType = type.trim();
    if (
      contentType !== expectedType && !(expectedType === "application/json" && contentType.endsWith("+json"))
    ) {
      throw unreadable("Content-Type", contentType, expectedType);
    }
    const charset = CHARSET.exec(parameters.join(";"))?.[1];
    if (charset && charset !== "utf-8" && charset !== "utf8") throw unreadable("charset", charset, "utf-8");
    const coding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
    if (coding !== "" && coding !== "identity") {
      throw unreadable("Content-Encoding", coding, "none", { "accept-encoding": "identity" });
    }
    return bytes;
  }
}

const CHARSET = /(?:^|;)\s*charset\s*=\s*"?([^";\s]+)/;

const unreadable = (what: string, found: string, expected: string, headers: Record<string, string> = {}) =>
  problem(
    "UNSUPPORTED_MEDIA_TYPE",
    `The body's ${what} is ${found ? `"${found.slice(0, 100)}"` : "absent"}; expected ${expected}.`,
    { headers },
  );

/** Validates `value`. @param errors those of its unknown members, which are added to the errors of the schema */
function parseMembers<S extends z.ZodType>(schema: S, value: unknown, errors: FieldErrors): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success && Object.keys(errors).length === 0) return result.data;
  throw invalid({ ...result.error ? fieldErrors(schema, value, result.error) : {}, ...errors });
}

/** Validates `value`. @throws VALIDATION_ERROR with all errors by field */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(fieldErrors(schema, value, result.error));
}

/** Reads a body within the limits. A broken connection is answered as VALIDATION_ERROR, because the service did not fail. */
async function readWithin(
  body: ReadableStream<Uint8Array>,
  { bytes, milliseconds }: BodyLimits,
  onReceived: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  try {
    return await withTimeout(milliseconds, readToEnd(reader, bytes, onReceived), () => tooSlow(milliseconds));
  } catch (cause) {
    reader.cancel().catch(() => {}); // the stream is broken, or the rest is not needed
    if (cause instanceof Problem) throw cause;
    throw problem("VALIDATION_ERROR", "The connection ended before the whole body had arrived.", { cause });
  }
}

async function readToEnd(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  onReceived: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    onReceived(value.length);
    chunks.push(value);
  }
  const [first] = chunks;
  if (chunks.length === 1 && first) return first as Uint8Array<ArrayBuffer>;
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

const tooLarge = (limit: number) =>
  problem("BODY_TOO_LARGE", `The body is larger than this route reads; expected at most ${limit} bytes.`);

const tooSlow = (milliseconds: number) =>
  problem("BODY_TIMED_OUT", `The body did not arrive completely within ${milliseconds / 1000} s.`, {
    headers: { connection: "close" },
  });
