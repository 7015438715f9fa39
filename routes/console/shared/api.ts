import { constraintText } from "../../../domain/problems/constraints.ts";
import { CATALOGUE, isProblemCode, type Problem } from "../../../domain/problems/problem.ts";
import { formatter } from "../../../domain/shared/formatters.ts";
import type { Handle } from "../../app.ts";
import type { Endpoint } from "../../shared/endpoint.ts";
import { commonTexts } from "./common_texts.ts";
import { FORMAT_TAGS, type Locale } from "./languages.ts";
import type { Result } from "./looks.ts";
import {
  addressOf,
  type Answer,
  type Arguments,
  type CalledEndpoint,
  endpointOf,
  type LooseInput,
  type OperationId,
  type Query,
  queryOf,
  type Row,
  searchOf,
  showsAllTenants,
} from "./operations.ts";
import { translateValidation } from "./translations.ts";

export { type Query, searchOf };

/** One page of a list, as the API returns it. */
export interface Page<T> {
  items: T[];
  totalCount: number;
  pageNumber: number;
  pageSize: number;
  totalPages: number;
  hasNext: boolean;
  hasPrevious: boolean;
}

/** The page of a list whose filter is known to match nothing, so that the API need not be called. */
export const EMPTY_PAGE: Page<never> = {
  items: [],
  totalCount: 0,
  pageNumber: 1,
  pageSize: 20,
  totalPages: 0,
  hasNext: false,
  hasPrevious: false,
};

/** The statuses whose message says when the viewer may try again: those of a locked account and of a rate limit. */
const WAITS = new Set([401, 429]);

/** "You can try again in 4 minutes." */
function retryText(locale: Locale, seconds: number): string {
  const format = formatter(Intl.RelativeTimeFormat, FORMAT_TAGS[locale], { numeric: "always" });
  const when = seconds > 90
    ? format.format(Math.ceil(seconds / 60), "minute")
    : format.format(seconds, "second");
  return commonTexts[locale].tryAgain(when);
}

const secondsOf = (header: string | null | undefined): number | null =>
  header && /^\d+$/.test(header) ? Number(header) : null;

/** An error response of the API (problem document), explained in the viewer's language. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly status: number;
  readonly code: string | null;
  /** The API's English detail with names, values and limits. */
  readonly detail: string;
  readonly traceId: string | null;
  /** The whole problem document. */
  readonly document: Record<string, unknown>;
  /** The catalogue's text that says what happened and what to do next; the detail if there is no code. */
  readonly text: string;
  /** Messages by field. Messages that belong to no field are under "". */
  readonly fields: Record<string, string[]>;
  /** The permissions of which the refused operation needs any one; empty if the operation does not declare them. */
  readonly needs: readonly string[];

  constructor(
    { status, code = null, detail, errors, traceId = null, document = {}, needs = [], retryAfterS = null }: {
      status: number;
      code?: string | null;
      detail: string;
      errors?: unknown;
      traceId?: string | null;
      document?: Record<string, unknown>;
      needs?: readonly string[];
      /** Seconds to wait, of the header Retry-After. */
      retryAfterS?: number | null;
    },
    locale: Locale = "en",
  ) {
    super(`${status} ${code ?? ""}: ${detail}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.traceId = traceId;
    this.document = document;
    this.needs = needs;
    const text = code !== null && isProblemCode(code)
      ? constraintText(code, detail, locale) ?? CATALOGUE[code].user[locale]
      : detail;
    this.text = retryAfterS !== null && WAITS.has(status)
      ? `${text} ${retryText(locale, retryAfterS)}`
      : text;
    this.fields = byField(errors, locale);
  }

  /** A copy of the refusal with its messages at other fields. */
  withFields(fields: Record<string, string[]>): Refusal {
    return Object.assign(Object.create(Refusal.prototype), this, { fields });
  }

  /** The message on the page after the refused action. */
  get flash(): Result {
    const { code, detail, text } = this;
    return { tone: "bad", text, ...code && { detail: `${detail.slice(0, 1_000)} (${code})` } };
  }
}

/** The refusal of an input that a page cannot read, before it calls the API. */
export const refusedInput = (name: string, text: string): Refusal =>
  new Refusal({ status: 400, detail: text, errors: { [name]: [text] } });

/** Turns a domain problem into a refusal, for pages that call the domain without the API. */
export const refusalOf = ({ status, code, message, extras }: Problem, locale: Locale): Refusal =>
  new Refusal({
    status,
    code,
    detail: message,
    errors: extras.errors,
    retryAfterS: secondsOf(extras.headers?.["retry-after"]),
  }, locale);

/** Runs `send`, which calls the endpoint, and may call others of the API before and after it. */
type Around = (
  api: Api,
  endpoint: CalledEndpoint,
  input: LooseInput,
  send: () => Promise<Response>,
) => Promise<Response>;

/** Client for the service's own API, called in process with the viewer's token. The API's permission checks apply. */
export class Api {
  constructor(
    private readonly handle: Handle,
    private readonly o: {
      token: string | null;
      ip: string | null;
      headers: Record<string, string>;
      /** True if lists may be some seconds old, so that a read replica may answer them. */
      mayBeStale?: boolean;
      /** The permissions that open nothing, because their areas are off. */
      unserved?: ReadonlySet<string>;
      /** The language of the errors. */
      locale: Locale;
      /** The tenant to which operations that could show all tenants are limited. */
      tenantId?: string | undefined;
      /** Runs each call of an endpoint. */
      around?: Around;
    },
  ) {}

  /** This client, whose calls of endpoints run within `around`. */
  around(around: Around): Api {
    return new Api(this.handle, { ...this.o, around });
  }

  /** The permissions that open nothing, because their areas are off. */
  get unserved(): ReadonlySet<string> {
    return this.o.unserved ?? new Set();
  }

  /**
   * This client, limited to the tenant that the pages show. A system administrator would see all tenants. A call
   * with its own `tenantId` is not limited, with null it is of all tenants.
   */
  within({ permissions }: { permissions: ReadonlySet<string> }, scope: { id: string } | null): Api {
    const isLimited = scope !== null && permissions.has("admin:system");
    return isLimited ? new Api(this.handle, { ...this.o, tenantId: scope.id }) : this;
  }

  /** Calls an operation and returns the body of its answer. @throws Refusal */
  async call<Id extends OperationId>(id: Id, ...[input]: Arguments<Id>): Promise<Answer<Id>> {
    const text = await (await this.ask(endpointOf(id), input)).text();
    return (text === "" ? undefined : JSON.parse(text)) as Answer<Id>;
  }

  /** Calls an operation that needs only the parameters of the page's path. @throws Refusal */
  async act<Id extends OperationId>(
    id: Id,
    { params }: { params: Record<string, string> },
  ): Promise<Answer<Id>> {
    return await this.call(id, ...[{ params }] as unknown as Arguments<Id>);
  }

  /** Calls an operation that reads a resource, and returns the resource with its ETag. @throws Refusal */
  async versioned<Id extends OperationId>(
    id: Id,
    ...[input]: Arguments<Id>
  ): Promise<{ value: Answer<Id>; etag: string }> {
    const answer = await this.ask(endpointOf(id), input);
    return { value: await answer.json(), etag: answer.headers.get("etag") ?? "" };
  }

  /**
   * Reads one page of a list. The operation gets the parameters of the page's address that it has too, and `query`, which
   * wins. @throws Refusal
   */
  async list<Id extends OperationId>(
    id: Id,
    v: { params: Record<string, string>; query: URLSearchParams },
    more: Query = {},
  ): Promise<Page<Row<Id>>> {
    return await this.listOf<Row<Id>>(endpointOf(id), v, more);
  }

  /** Reads one page of a list that an endpoint answers, as `list` does. @throws Refusal */
  async listOf<T>(
    endpoint: Endpoint,
    { params, query }: { params: Record<string, string>; query: URLSearchParams },
    more: Query = {},
  ): Promise<Page<T>> {
    const headers: Record<string, string> = this.o.mayBeStale ? { "cache-control": "max-stale" } : {};
    const input = { params, query: { ...queryOf(endpoint, query), ...more }, headers };
    return await (await this.ask(endpoint, input)).json();
  }

  /** Calls an operation and returns the raw response, for streams and documents. @throws Refusal */
  async answer<Id extends OperationId>(id: Id, ...[input]: Arguments<Id>): Promise<Response> {
    return await this.ask(endpointOf(id), input);
  }

  /** Calls an endpoint of the service or of an extension. @throws Refusal */
  async ask(endpoint: CalledEndpoint, input: LooseInput = {}): Promise<Response> {
    const { body, ifMatch, headers, signal } = input;
    const { method, access } = endpoint;
    const { tenantId } = this.o;
    const given = input.query?.tenantId;
    const isLimited = tenantId && given !== null && !given && showsAllTenants(endpoint);
    const called = isLimited ? { ...input, query: { ...input.query, tenantId } } : input;
    const send = () =>
      this.send(method.toUpperCase(), addressOf(endpoint, called), {
        body,
        headers: { ...ifMatch ? { "if-match": headerText(ifMatch) } : {}, ...headers },
        signal,
        needs: access.permissions,
      });
    return this.o.around ? await this.o.around(this, endpoint, called, send) : await send();
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return await this.send(method, path, { body, headers, signal });
  }

  private async send(
    method: string,
    path: string,
    { body, headers, signal, needs }: {
      body?: unknown;
      headers: Record<string, string>;
      signal?: AbortSignal | undefined;
      needs?: readonly string[];
    },
  ): Promise<Response> {
    const { token, ip } = this.o;
    const isRaw = body instanceof FormData || body instanceof Uint8Array;
    const request = new Request(`http://console.invalid${path}`, {
      method,
      headers: {
        ...this.o.headers,
        ...token ? { authorization: `Bearer ${token}` } : {},
        ...body === undefined || isRaw ? {} : { "content-type": "application/json" },
        ...headers,
      },
      ...body === undefined ? {} : { body: isRaw ? body as BodyInit : JSON.stringify(body) },
      ...signal ? { signal } : {},
    });
    const answer = await this.handle(request, ip);
    if (answer.status < 400) return answer;
    const problem = await answer.json().catch(() => ({}));
    throw new Refusal({
      status: answer.status,
      code: typeof problem.code === "string" ? problem.code : null,
      detail: String(problem.detail ?? problem.title ?? answer.statusText),
      errors: problem.errors,
      traceId: typeof problem.traceId === "string" ? problem.traceId : null,
      document: problem,
      retryAfterS: secondsOf(answer.headers.get("retry-after")),
      ...needs ? { needs } : {},
    }, this.o.locale);
  }
}

/** A text of a form as the value of a header: other characters become `?`, so that such an ETag matches no version. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?");

/** Returns null if the API answers 403 or 404. */
export async function orNull<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (refusal) {
    if (refusal instanceof Refusal && (refusal.status === 403 || refusal.status === 404)) return null;
    throw refusal;
  }
}

/** Reads both shapes of `errors`: an object by field, or a list of "field: message". */
function byField(errors: unknown, locale: Locale): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  const add = (field: string, message: string) =>
    (fields[field] ??= []).push(translateValidation(locale, message));
  if (Array.isArray(errors)) {
    for (const error of errors) {
      const [, field, message] = /^([\w.]+): (.*)$/s.exec(String(error)) ?? [];
      add(field ?? "", message ?? String(error));
    }
  } else if (errors && typeof errors === "object") {
    for (const [field, messages] of Object.entries(errors)) {
      for (const message of Array.isArray(messages) ? messages : [messages]) add(field, String(message));
    }
  }
  return fields;
}
