/** What an endpoint answers: status, headers, and a body that is JSON unless it is bytes, a stream or nothing. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** True where a repeat with the same Idempotency-Key is to be answered anew. */
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

/** 201 with a JSON body and where the new resource is read. */
export const created = (body: unknown, location: string): Answer => ({
  status: 201,
  headers: { location },
  body,
});

/** 202 with a JSON body and where progress is read. */
export const accepted = (body: unknown, location: string): Answer => ({
  status: 202,
  headers: { location },
  body,
});

/** 204. */
export const noContent = (): Answer => ({ status: 204, headers: {}, body: undefined });

/** 200 with a ready-made text of any type. */
export const text = (body: string, contentType: string, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers: { "content-type": contentType, ...headers },
  body,
});

/** The strong ETag of a row's version. */
export const etagOf = (version: number): string => `"${version}"`;
