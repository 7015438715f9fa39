import { S3Client } from "@bradenmacdonald/s3-lite-client";
import { AwsClient, AwsV4Signer } from "aws4fetch";
import { request as httpRequest } from "node:http";
import { startEmbeddedObjectStore } from "../../../infra/embedded/objectstore/server.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";

export const CREDENTIALS = { accessKey: "test/key-id", secretKey: "test+secret/key", region: "eu-test-1" };
export const BUCKET = "first-bucket";

/** Starts a store with one empty bucket. */
export async function startTestStore(o: { corsOrigins?: string[] } = {}) {
  const dir = await Deno.makeTempDir({ prefix: "objectstore-" });
  const server = await startEmbeddedObjectStore({ dir, port: 0, ...CREDENTIALS, ...o });
  const store = connectObjectStore(configOf(server.endpoint));
  await store.ensureBucket();
  return {
    dir,
    server,
    /** The client under test. */
    store,
    /** Two clients of other libraries. */
    lite: new S3Client({ endPoint: server.endpoint, bucket: BUCKET, ...CREDENTIALS }),
    aws: new AwsClient({ ...awsCredentials(), service: "s3", retries: 0 }),
    /** URL of an object, path-style. */
    url: (key: string, query: Record<string, string> = {}) => objectUrl(server.endpoint, key, query),
    async stop() {
      await server.stop();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

export function configOf(endpoint: string) {
  return { endpoint, publicEndpoint: endpoint, bucket: BUCKET, pathStyle: true, ...CREDENTIALS };
}

export function awsCredentials() {
  const { accessKey, secretKey, region } = CREDENTIALS;
  return { accessKeyId: accessKey, secretAccessKey: secretKey, region };
}

function objectUrl(endpoint: string, key: string, query: Record<string, string>): string {
  const path = key.split("/").map(encodeURIComponent).join("/");
  const search = Object.entries(query).map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  return `${endpoint}/${BUCKET}/${path}${search === "" ? "" : `?${search}`}`;
}

/** A presigned URL made by aws4fetch; options left out have correct values. */
export async function presign(url: string, o: {
  method?: string;
  headers?: Record<string, string>;
  accessKeyId?: string;
  secretAccessKey?: string;
  region?: string;
  service?: string;
  at?: Date;
  expires?: string;
} = {}): Promise<string> {
  const target = new URL(url);
  target.searchParams.set("X-Amz-Expires", o.expires ?? "300");
  const signer = new AwsV4Signer({
    ...awsCredentials(),
    method: "GET",
    ...o,
    service: o.service ?? "s3",
    url: target.href,
    signQuery: true,
    allHeaders: true,
    datetime: (o.at ?? new Date()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
  });
  return (await signer.sign()).url.href;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Sends a request with any headers and with its path unchanged (`..` and `//` stay). */
export function sendRaw(
  url: string,
  o: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawAnswer> {
  const [, host = "", path = "/"] = /^http:\/\/([^/]+)(.*)$/s.exec(url) ?? [];
  const [hostname, port] = host.split(":");
  return new Promise((resolve, reject) => {
    const { method = "GET", headers = {} } = o;
    const request = httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    request.on("error", reject);
    request.end(o.body);
  });
}

/** Status and S3 error code, as "403 AccessDenied"; "200" alone on success. Reads the whole answer. */
export async function outcome(answer: Response | RawAnswer): Promise<string> {
  const body = answer instanceof Response ? await answer.text() : answer.body;
  const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1];
  return code ? `${answer.status} ${code}` : String(answer.status);
}

/** Bytes that differ from place to place and are the same on every run. */
export function pattern(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0, x = seed; i < words.length; i++) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    words[i] = x;
  }
  return new Uint8Array(words.buffer, 0, length);
}

export function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

export async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

/** Paths of all files below the store's directory that hold an object or a part of one. */
export async function filesIn(dir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(dir)) {
    if (entry.isDirectory) found.push(...(await filesIn(`${dir}/${entry.name}`)));
    else if (entry.name !== "lock") found.push(`${dir}/${entry.name}`);
  }
  return found;
}
