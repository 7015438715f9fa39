import type { z } from "zod";
import { invalid, problem } from "../../domain/problems/problem.ts";
import { fieldErrors } from "./validation.ts";

export const BODY_LIMIT = 1024 * 1024;
/** No route takes what is nested deeper than this; what walks through a document may then call itself. */
const DEEPEST = 200;

/** One request on its way through the service: its trace, its origin, and its body when an endpoint asks for it. */
export class Call {
  #url: URL | undefined;

  constructor(
    readonly request: Request,
    readonly traceId: string,
    readonly ip: string | null,
    readonly bodyLimit: number,
  ) {}

  /** Path and query of the request, parsed when something asks. The Host header is the caller's word: it stays out. */
  get url(): URL {
    const { url } = this.request;
    return this.#url ??= new URL(
      `http://steward.invalid${url.slice(url.indexOf("/", url.indexOf("//") + 2))}`,
    );
  }

  /** The If-Match header, when the caller makes the change depend on a version. */
  get ifMatch(): string | null {
    return this.request.headers.get("if-match");
  }

  /**
   * Reads and validates a JSON body.
   * @param o.optional an absent body counts as `{}`.
   * @param o.anyText leaves it to the route to look for text no database can hold.
   * @throws VALIDATION_ERROR, UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE
   */
  async readJson<S extends z.ZodType>(
    schema: S,
    o: { optional?: boolean | undefined; anyText?: boolean } = {},
  ): Promise<z.output<S>> {
    const { optional = false, anyText = false } = o;
    const bytes = await this.readBytes("application/json", optional);
    let raw: string;
    let value: unknown;
    try {
      raw = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      if (raw.trim() === "" && optional) return parse(schema, {});
      value = JSON.parse(raw);
    } catch (error) {
      throw invalid({ body: [`expected a JSON document in UTF-8: ${(error as Error).message}`] });
    }
    if (raw.length > 2 * DEEPEST) requireShallow(value);
    if (!anyText && (raw.includes("\\u") || raw.includes("\0"))) requireStorableText(value);
    return parse(schema, value);
  }

  /** Reads one file part of a multipart body, with the other parts as text. */
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

  private async readBytes(expectedType: string, optional: boolean): Promise<Uint8Array<ArrayBuffer>> {
    const { headers, body } = this.request;
    const declared = Number(headers.get("content-length") ?? "0");
    if (declared > this.bodyLimit) throw tooLarge(this.bodyLimit);
    const bytes = body ? await readUpTo(unbroken(body), this.bodyLimit) : new Uint8Array();
    if (bytes.length === 0 && optional) return bytes;
    const contentType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (
      contentType !== expectedType && !(expectedType === "application/json" && contentType.endsWith("+json"))
    ) {
      throw problem(
        "UNSUPPORTED_MEDIA_TYPE",
        `The body's Content-Type is ${
          contentType ? `"${contentType}"` : "absent"
        }; expected ${expectedType}.`,
      );
    }
    return bytes;
  }
}

/** Validates `value`; every mistake by field. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(fieldErrors(result.error));
}

/** Refuses a document nested so deep that walking through it would be the end of the stack. */
function requireShallow(value: unknown, depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth === DEEPEST) throw invalid({ body: [`expected a document at most ${DEEPEST} levels deep`] });
  for (const item of Object.values(value)) requireShallow(item, depth + 1);
}

/** Refuses what a Postgres text cannot hold: NUL characters and halves of surrogate pairs. */
export function requireStorableText(value: unknown, field = ""): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid({ [field || "body"]: ["must not contain the NUL character"] });
    if (!value.isWellFormed()) throw invalid({ [field || "body"]: ["must be well-formed Unicode"] });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => requireStorableText(item, `${field || "body"}.${index}`));
  } else if (value !== null && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) {
      requireStorableText(key, field);
      requireStorableText(item, field ? `${field}.${key}` : key);
    }
  }
}

/** A caller who hangs up, or whose time is over when the service stops, has sent a bad request and not found a fault. */
async function* unbroken(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw problem("VALIDATION_ERROR", "The body broke off before its end.", { cause });
  }
}

async function readUpTo(body: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
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
