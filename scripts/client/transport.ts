// Sends the client's requests: authentication, retries, error responses. Copied unchanged into the package, so it must not
// import anything.

/** Tokens of a session. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

export interface StewardOptions {
  /** URL of the service, such as `https://steward.example`. */
  baseUrl: string;
  /** An access token or an API key (`sk_` …), sent with every request and never renewed. */
  token?: string;
  /** Tokens of an earlier sign-in. They are renewed when they have expired. */
  tokens?: Tokens;
  /** Called with new tokens, so that you can store them, and with `null` when they are no longer valid. */
  onTokens?: (tokens: Tokens | null) => void;
  /** Tenant of the requests, if the token has none. */
  tenantId?: string;
  /** Retries of a request after 429 or 503, if a retry is safe; default 2. */
  retries?: number;
  /** Replacement for the platform's `fetch`. */
  fetch?: typeof fetch;
}

/** Options of a single request. */
export interface RequestOptions {
  /** Makes a retry of a creating request safe: 1 to 255 visible ASCII characters, such as a UUID. */
  idempotencyKey?: string;
  /** ETag of the version to change; `onResponse` receives it. */
  ifMatch?: string;
  tenantId?: string;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Called with the response before its body is read, for headers such as ETag and Location. */
  onResponse?: (response: Response) => void;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  totalCount: number;
  pageNumber: number;
  pageSize: number;
  totalPages: number;
  hasNext: boolean;
  hasPrevious: boolean;
}

/** A request that a method of the client sends. */
export interface ClientRequest {
  method: string;
  path: string;
  query?: object;
  /** A value to send as JSON, FormData with a file, or a Blob with its content type. */
  body?: unknown;
  options?: RequestOptions;
  /** How the response body is read; default: JSON. */
  as?: "json" | "text" | "response" | "nothing";
}

/** An error response of the service: a problem document (RFC 9457). */
export class StewardProblem extends Error {
  override name = "StewardProblem";
  readonly status: number;
  /** The error code; absent if the response did not come from the service. */
  readonly code: string | undefined;
  readonly title: string;
  readonly detail: string;
  /** Messages by field, or a list whose meaning depends on the code. */
  readonly errors: Record<string, string[]> | string[] | undefined;
  readonly traceId: string | undefined;
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, document: Record<string, unknown>) {
    const text = (name: string): string | undefined =>
      typeof document[name] === "string" ? document[name] as string : undefined;
    const title = text("title") ?? response.statusText;
    const detail = text("detail") ?? title;
    super(`${response.status} ${text("code") ?? ""}: ${detail}`);
    this.status = response.status;
    this.code = text("code");
    this.title = title;
    this.detail = detail;
    this.errors = document.errors as Record<string, string[]> | string[] | undefined;
    this.traceId = text("traceId");
    const seconds = Number(response.headers.get("retry-after") ?? NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : undefined;
  }
}

/** Codes of requests refused before they had any effect, so a retry is always safe. */
const ALWAYS_RETRYABLE: ReadonlySet<string | undefined> = new Set([
  "RATE_LIMITED",
  "SIGN_IN_BUSY_UNAVAILABLE",
]);
const LONGEST_WAIT_S = 30;

/** Sends requests with the tokens in use and renews expired tokens. */
export class Transport {
  readonly baseUrl: string;
  readonly #options: StewardOptions;
  readonly #fetch: typeof fetch;
  #tokens: Tokens | null;
  #renewing: Promise<boolean> | null = null;

  constructor(options: StewardOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#options = options;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#tokens = options.tokens ?? null;
  }

  /** The tokens in use; null if there are none. */
  get tokens(): Tokens | null {
    return this.#tokens;
  }

  /** Replaces the tokens in use, or removes them. */
  useTokens(tokens: Tokens | null): void {
    this.#tokens = tokens && { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken };
    this.#options.onTokens?.(this.#tokens);
  }

  /** The full URL of a path and query, for calls outside the client. */
  url(path: string, query: object = {}): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      for (const one of [value].flat()) {
        if (one !== undefined && one !== null) {
          search.append(name, one instanceof Date ? one.toISOString() : String(one));
        }
      }
    }
    return this.baseUrl + path + (search.size > 0 ? `?${search}` : "");
  }

  /** Sends a request and reads the response. @throws StewardProblem */
  async request<T>(request: ClientRequest): Promise<T> {
    const response = await this.#sendWithRetries(request);
    request.options?.onResponse?.(response);
    if (request.as === "response") return response as T;
    if (request.as === "nothing") await response.body?.cancel();
    if (request.as === "nothing") return undefined as T;
    const text = await response.text();
    return (request.as === "text" ? text : text === "" ? undefined : JSON.parse(text)) as T;
  }

  async #sendWithRetries(request: ClientRequest): Promise<Response> {
    const isRepeatable = request.method === "GET" || request.options?.idempotencyKey !== undefined;
    let mayRenew = true;
    for (let retriesLeft = this.#options.retries ?? 2;;) {
      const used = this.#tokens;
      const response = await this.#send(request);
      if (response.ok || response.status < 400 || response.type === "opaqueredirect") return response;
      const problem = await problemOf(response);
      if (mayRenew && used && problem.code === "TOKEN_EXPIRED" && await this.#renew(used)) {
        mayRenew = false;
        continue;
      }
      const isBusy = problem.status === 429 || problem.status === 503;
      const wait = problem.retryAfter ?? 1;
      if (
        !isBusy || retriesLeft-- <= 0 || wait > LONGEST_WAIT_S ||
        !(isRepeatable || ALWAYS_RETRYABLE.has(problem.code))
      ) {
        throw problem;
      }
      await pause(wait * 1000, request.options?.signal);
    }
  }

  async #send({ method, path, query, body, options = {}, as }: ClientRequest): Promise<Response> {
    const { idempotencyKey, ifMatch, tenantId = this.#options.tenantId, signal } = options;
    const token = this.#tokens?.accessToken ?? this.#options.token;
    const isRaw = body instanceof FormData || body instanceof Blob;
    const headers: Record<string, string> = {
      ...(as === undefined || as === "json" ? { accept: "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
      ...(ifMatch ? { "if-match": ifMatch } : {}),
      ...(tenantId ? { "x-tenant-id": tenantId } : {}),
      ...options.headers,
    };
    return await this.#fetch(this.url(path, query), {
      method,
      headers,
      ...(as === "response" ? { redirect: "manual" as const } : {}),
      ...(signal ? { signal } : {}),
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    });
  }

  /** Renews expired tokens, once for all concurrent requests; false if they can no longer be renewed. */
  async #renew(stale: Tokens): Promise<boolean> {
    if (this.#tokens !== stale) return this.#tokens !== null;
    this.#renewing ??= this.#exchange(stale).finally(() => this.#renewing = null);
    return await this.#renewing;
  }

  async #exchange({ refreshToken }: Tokens): Promise<boolean> {
    const response = await this.#fetch(`${this.baseUrl}/api/v1/auth/refresh`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ refreshToken }),
    });
    if (response.ok) {
      this.useTokens(await response.json());
      return true;
    }
    const problem = await problemOf(response);
    if (problem.status !== 401) throw problem;
    this.useTokens(null);
    return false;
  }
}

async function problemOf(response: Response): Promise<StewardProblem> {
  const text = await response.text();
  try {
    return new StewardProblem(response, JSON.parse(text));
  } catch {
    return new StewardProblem(response, { detail: text.slice(0, 500) }); // not JSON, such as a proxy's error page
  }
}

/** Waits; rejects with the signal's reason if it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal?.reason);
    if (signal?.aborted) return end();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), end()), { once: true });
  });
}

/**
 * Yields every item of a list and requests the pages one after another:
 * `for await (const user of each((page) => steward.users.listUsers({ page })))`.
 */
export async function* each<T>(list: (page: number) => Promise<Page<T>>): AsyncGenerator<T, void, void> {
  for (let page = 1;; page++) {
    const { items, hasNext } = await list(page);
    yield* items;
    if (!hasNext) return;
  }
}

/** Encodes a path parameter as one path segment. */
export const segment = (value: string | number): string => encodeURIComponent(String(value));
