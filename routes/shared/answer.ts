/** The answer of an endpoint. The body is JSON, text or bytes, a stream, or undefined for none. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** True if the answer is not stored for the Idempotency-Key, so that a repeat gets a new one. */
  isProvisional?: boolean;
}

/** 200 with a JSON body. */
export const ok = (body: unknown, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers,
  body,
});

/** 200 with a JSON body and the ETag of the resource's version. */
export const okVersioned = (body: unknown, version: number): Answer => ok(body, { etag: etagOf(version) });

/** 200 without a body. */
export const okEmpty = (): Answer => ({ status: 200, headers: {}, body: undefined });

/** 201 with a JSON body and the path of the new resource as Location. */
export const created = (body: unknown, location: string): Answer => ({
  status: 201,
  headers: { location },
  body,
});

/** 202 with a JSON body and the path of the status as Location. */
export const accepted = (body: unknown, location: string): Answer => ({
  status: 202,
  headers: { location },
  body,
});

/** 204. */
export const noContent = (): Answer => ({ status: 204, headers: {}, body: undefined });

/** 200 with a text of any content type. */
export const text = (body: string, contentType: string, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers: { "content-type": contentType, ...headers },
  body,
});

/** The strong ETag of a version number. */
export const etagOf = (version: number): string => `"${version}"`;
