import { createHttpOut, OutboundRefused } from "../http_out/http_out.ts";
import { ObjectStoreRefused } from "./errors.ts";
import type { SignedRequest } from "./address.ts";

/** Longer than the timeouts of the client's calls, which abort a request themselves. */
const WHOLE_MS = 10 * 60_000;

/**
 * Sends requests to a store whose address a caller gave: only to public addresses and those of OUTBOUND_ALLOW, each name
 * resolved once. Answers have at most 1 MiB, so it is for writing.
 */
export function safeTransport(allow: string | null) {
  const http = createHttpOut({ allow, wholeMs: WHOLE_MS, followsRedirects: false });
  return async ({ url, method, headers, body }: SignedRequest, signal: AbortSignal): Promise<Response> => {
    const request = {
      url: url.href,
      method,
      headers: Object.fromEntries(headers),
      body: body ?? null,
      signal,
    };
    try {
      const answer = await http.send(request);
      const hasBody = answer.status !== 204 && answer.status !== 304;
      return new Response(hasBody ? new Uint8Array(answer.body) : null, answer);
    } catch (error) {
      if (!(error instanceof OutboundRefused)) throw error;
      throw new ObjectStoreRefused("the address of the object store is private", 0, "AddressRefused");
    }
  };
}
