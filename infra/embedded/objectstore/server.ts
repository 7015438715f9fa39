import { waitAtMost } from "../../timeout.ts";
import { randomBytes } from "node:crypto";
import { Uploads } from "./multipart.ts";
import { runOperation } from "./operations.ts";
import { drain } from "./payload.ts";
import { readRequest, S3Problem } from "./request.ts";
import { type Credentials, verifySignature } from "./signature.ts";
import { Storage } from "./storage.ts";
import { errorResponse } from "./xml.ts";

export interface EmbeddedObjectStoreOptions extends Credentials {
  /** Data folder. Only one store may use it at a time. */
  dir: string;
  /** 0: any free port. */
  port: number;
  hostname?: string;
  /** Origins whose pages may upload and download. Default: all. */
  corsOrigins?: string[];
}

export interface EmbeddedObjectStore {
  endpoint: string;
  port: number;
  /** Waits one second for running requests, then closes every connection. Does not wait for downloads. */
  stop(): Promise<void>;
}

const DRAIN_MAX_BYTES = 256 * 1024 * 1024;
const DRAIN_MAX_MS = 10_000;
const STOP_GRACE_MS = 1_000;

/**
 * Starts an S3-compatible store on files under `dir`, for development and tests. Every request needs a valid signature
 * version 4. Throws if another store uses the folder or if the port is taken.
 */
export async function startEmbeddedObjectStore(o: EmbeddedObjectStoreOptions): Promise<EmbeddedObjectStore> {
  const { hostname = "127.0.0.1", corsOrigins = ["*"] } = o;
  const storage = await Storage.open(o.dir);
  const store = { uploads: new Uploads(storage), region: o.region };

  async function answer(request: Request): Promise<Response> {
    if (request.method === "OPTIONS") return answerPreflight(corsOrigins, request.headers);
    const read = readRequest(request);
    const sha256 = verifySignature(read, o, new Date());
    return await runOperation(store, read, sha256);
  }

  async function handle(request: Request): Promise<Response> {
    const requestId = randomBytes(8).toString("hex").toUpperCase();
    const response = await answer(request).catch(async (error: unknown) => {
      if (request.body && !request.bodyUsed) await drain(request.body, DRAIN_MAX_BYTES, DRAIN_MAX_MS);
      const problem = error instanceof S3Problem ? error : new S3Problem("InternalError");
      if (problem !== error) {
        console.error("embedded object store: request", requestId, "failed:", withoutPaths(error, o.dir));
      }
      return errorResponse(problem, requestId, request.method !== "HEAD");
    });
    response.headers.set("x-amz-request-id", requestId);
    addCorsHeaders(corsOrigins, request.headers, response.headers);
    return response;
  }

  const running = new Set<Promise<Response>>();
  function track(request: Request): Promise<Response> {
    const response = handle(request).finally(() => running.delete(response));
    running.add(response);
    return response;
  }

  const ending = new AbortController();
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({ port: o.port, hostname, signal: ending.signal, onListen() {} }, track);
  } catch (error) {
    storage.close();
    throw error;
  }
  const { port } = server.addr;
  const reachable = hostname === "0.0.0.0"
    ? "127.0.0.1"
    : hostname.includes(":")
    ? `[${hostname}]`
    : hostname;
  return {
    endpoint: `http://${reachable}:${port}`,
    port,
    async stop() {
      await waitAtMost(STOP_GRACE_MS, Promise.all(running));
      ending.abort();
      await server.finished;
      await Promise.all(running); // interrupted uploads delete their files
      storage.close();
    },
  };
}

/** The text of an error without paths below `dir`, because they contain the bucket's name. */
function withoutPaths(error: unknown, dir: string): string {
  const [text = "", ...paths] = (error instanceof Error ? error.stack ?? error.message : String(error)).split(
    dir,
  );
  return text + paths.map((path) => path.replace(/^[^\s'"]*/, "(a file of the store)")).join("");
}

const METHODS = "GET, HEAD, PUT, POST, DELETE";
const EXPOSED =
  "ETag, Content-Length, Content-Range, Content-Disposition, Accept-Ranges, Last-Modified, x-amz-request-id";

/** True if pages of `origin` may use the store: `origins` contains it or "*". */
function isAllowed(origins: readonly string[], origin: string): boolean {
  return origins.includes("*") || origins.includes(origin);
}

/** Answers a preflight request, which has no signature. Throws BadRequest, AccessForbidden. */
function answerPreflight(origins: readonly string[], headers: Headers): Response {
  const origin = headers.get("origin");
  const method = headers.get("access-control-request-method");
  if (origin === null || method === null) {
    throw new S3Problem("BadRequest", "A preflight needs Origin and Access-Control-Request-Method");
  }
  if (!isAllowed(origins, origin) || !METHODS.split(", ").includes(method)) {
    throw new S3Problem("AccessForbidden");
  }
  const asked = headers.get("access-control-request-headers");
  return new Response(null, {
    headers: {
      "access-control-allow-methods": METHODS,
      ...(asked === null ? {} : { "access-control-allow-headers": asked }),
      "access-control-max-age": "600",
      "vary": "Access-Control-Request-Method, Access-Control-Request-Headers",
    },
  });
}

/** Adds the headers that let the requesting page read the answer, also an error. */
function addCorsHeaders(origins: readonly string[], request: Headers, answer: Headers): void {
  const origin = request.get("origin");
  answer.append("vary", "Origin");
  if (origin === null || !isAllowed(origins, origin)) return;
  answer.set("access-control-allow-origin", origins.includes("*") ? "*" : origin);
  answer.set("access-control-expose-headers", EXPOSED);
}
