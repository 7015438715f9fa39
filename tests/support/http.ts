/** With STEWARD_TEST_LOG=1 a test prints the log of its service and every answer that refuses a request. */
export const SHOWS_LOG = Deno.env.get("STEWARD_TEST_LOG") === "1";

/** An answer with its body read: parsed if it is JSON, else as text. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  // deno-lint-ignore no-explicit-any -- tests look into answers of every shape
  body: any;
}

/** Bodies that are sent as they are; all others are sent as JSON. */
const isRaw = (body: unknown): body is string | FormData | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof FormData || body instanceof Uint8Array;

/** An HTTP client with the credentials of one caller. */
export class HttpClient {
  constructor(
    readonly baseUrl: string,
    readonly token: string | null = null,
    readonly headers: Record<string, string> = {},
  ) {}

  get = (path: string, headers = {}) => this.send("GET", path, undefined, headers);
  post = (path: string, body?: unknown, headers = {}) => this.send("POST", path, body, headers);
  put = (path: string, body?: unknown, headers = {}) => this.send("PUT", path, body, headers);
  delete = (path: string, headers = {}) => this.send("DELETE", path, undefined, headers);

  /** The same caller with these headers added to every request. */
  with(headers: Record<string, string>): HttpClient {
    return new HttpClient(this.baseUrl, this.token, { ...this.headers, ...headers });
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
        ...(body === undefined || body instanceof FormData || body instanceof Uint8Array
          ? {}
          : { "content-type": "application/json" }),
        ...this.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (SHOWS_LOG && response.status >= 400) console.error(`${method} ${path}: ${response.status} ${text}`);
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    };
  }
}
