// What every request of the client goes through; packed as it is, with nothing from outside it.

/** What one is signed in by. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

export interface StewardOptions {
  /** Where the service is, such as `https://steward.example`. */
  baseUrl: string;
  /** An access token or an API key (`sk_` …) that is used as it is. */
  token?: string;
  /** The tokens of an earlier sign-in; they are renewed when they are out of date. */
  tokens?: Tokens;
  /** Hears of new tokens, to keep them, and of `null` when they are of no more use. */
  onTokens?: (tokens: Tokens | null) => void;
  /** The tenant to act in, for tokens without one. */
  tenantId?: string;
  /** How often a request that is safe to repeat is sent again after 429 or 503; 2 by default. */
  retries?: number;
  /** Another fetch than the platform's. */
  fetch?: typeof fetch;
}

/** What any single request can be given besides. */
export interface RequestOptions {
  /** Makes a creating request safe to repeat: 1 to 255 visible ASCII characters, such as a UUID. */
  idempotencyKey?: string;
  /** The ETag the change is meant for; see `onResponse` for how to get it. */
  ifMatch?: string;
  tenantId?: string;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Sees the answer's status and headers, such as ETag and Location, before the body is handed over. */
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

/** A request as the areas make it. */
export interface ClientRequest {
  method: string;
  path: string;
  query?: object;
  /** JSON, or a form with a file. */
  body?: unknown;
  options?: RequestOptions;
  /** What the answer is read as; JSON by default. */
  as?: "json" | "text" | "response" | "nothing";
}

/** A problem document (RFC 9457) the service answered. */
export class StewardProblem extends Error {
  override name = "StewardProblem";
  readonly status: number;
  /** The stable name of the refusal; absent where what answered was not the service. */
  readonly code: string | undefined;
  readonly title: string;
  readonly detail: string;
  /** What was expected of which field, or the list the code speaks of. */
  readonly errors: Record<string, string[]> | string[] | undefined;
  readonly traceId: string | undefined;
  /** Seconds after which to try again. */
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

/** Refused before anything was done, whatever the method. */
const UNTOUCHED: ReadonlySet<string | undefined> = new Set(["RATE_LIMITED", "SIGN_IN_BUSY_UNAVAILABLE"]);
const LONGEST_WAIT_S = 30;

/** Sends requests in the name of whoever is signed in, and renews their tokens. */
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

  /** The tokens in use, or null where there are none. */
  get tokens(): Tokens | null {
    return this.#tokens;
  }

  /** Goes on with other tokens, or with none. */
  useTokens(tokens: Tokens | null): void {
    this.#tokens = tokens && { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken };
    this.#options.onTokens?.(this.#tokens);
  }

  /** A URL of the service that is not called through the client. */
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

  /** Sends a request and reads its answer. @throws StewardProblem */
  async request<T>(request: ClientRequest): Promise<T> {
    const response = await this.#answered(request);
    request.options?.onResponse?.(response);
    if (request.as === "response") return response as T;
    if (request.as === "nothing") await response.body?.cancel();
    if (request.as === "nothing") return undefined as T;
    const text = await response.text();
    return (request.as === "text" ? text : text === "" ? undefined : JSON.parse(text)) as T;
  }

  async #answered(request: ClientRequest): Promise<Response> {
    const repeats = request.method === "GET" || request.options?.idempotencyKey !== undefined;
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
        !isBusy || retriesLeft-- <= 0 || wait > LONGEST_WAIT_S || !(repeats || UNTOUCHED.has(problem.code))
      ) {
        throw problem;
      }
      await pause(wait * 1000, request.options?.signal);
    }
  }

  async #send({ method, path, query, body, options = {}, as }: ClientRequest): Promise<Response> {
    const { idempotencyKey, ifMatch, tenantId = this.#options.tenantId, signal } = options;
    const token = this.#tokens?.accessToken ?? this.#options.token;
    const isForm = body instanceof FormData;
    const headers: Record<string, string> = {
      ...(as === undefined || as === "json" ? { accept: "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
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
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
  }

  /** Renews stale tokens, once for all requests that found them so; false when they are of no more use. */
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
    return new StewardProblem(response, { detail: text.slice(0, 500) }); // a proxy's page, say
  }
}

/** Waits; rejects with the signal's reason when it is aborted. */
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
 * Every item of a list, page by page as they are asked for:
 * `for await (const user of each((page) => steward.users.listUsers({ page })))`.
 */
export async function* each<T>(list: (page: number) => Promise<Page<T>>): AsyncGenerator<T, void, void> {
  for (let page = 1;; page++) {
    const { items, hasNext } = await list(page);
    yield* items;
    if (!hasNext) return;
  }
}

/** Path parameters are texts: whatever is in them, they stay one segment. */
export const segment = (value: string | number): string => encodeURIComponent(String(value));
