import type { Child } from "hono/jsx";

/** Renders part of a page as the response to an htmx request. */
export async function fragment(piece: Child): Promise<Response> {
  return new Response(await String(await piece), {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}
