import type { z } from "zod";
import { invalid, problem } from "../../domain/problems/problem.ts";
import { fieldErrors } from "./validation.ts";

export const BODY_LIMIT = 1024 * 1024;

/** One request on its way through the service: its trace, its origin, and its body when an endpoint asks for it. */
export class Call {
  #url: URL | undefined;

  constructor(
    readonly request: Request,
    readonly traceId: string,
    readonly ip: string | null,
    readonly bodyLimit: number,
  ) {}

  /** The request's URL, parsed when something asks for it. */
  get url(): URL {
    return this.#url ??= new URL(this.request.url);
  }

  /** The If-Match header, when the caller makes the change depend on a version. */
  get ifMatch(): string | null {
    return this.request.headers.get("if-match");
  }

  /**
   * Reads and validates a JSON body.
   * @param optional an absent body counts as `{}`.
   * @throws VALIDATION_ERROR, UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE
   */
  async readJson<S extends z.ZodType>(schema: S, optional = false): Promise<z.output<S>> {
    const raw = new TextDecoder().decode(await this.readBytes("application/json", optional));
    if (raw.trim() === "" && optional) return parse(schema, {});
    let value: unknown;
    try {
      value = JSON.parse(raw);
    } catch (error) {
      throw invalid({ body: [`expected a JSON document: ${(error as Error).message}`] });
    }
    if (raw.includes("\\u") || raw.includes("\0")) requireStorableText(value, "body");
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
    const bytes = body ? await readUpTo(body, this.bodyLimit) : new Uint8Array();
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

/** Refuses what a Postgres text cannot hold: NUL characters and halves of surrogate pairs. */
export function requireStorableText(value: unknown, field: string): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid({ [field]: ["must not contain the NUL character"] });
    if (!value.isWellFormed()) throw invalid({ [field]: ["must be well-formed Unicode"] });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => requireStorableText(item, `${field}[${index}]`));
  } else if (value !== null && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) {
      requireStorableText(key, field);
      requireStorableText(item, field === "body" ? key : `${field}.${key}`);
    }
  }
}

async function readUpTo(body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
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
