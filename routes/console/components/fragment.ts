import type { Child } from "hono/jsx";

/** A piece of a page for a script to put in place: the answer of an action that htmx asks for. */
export async function fragment(piece: Child): Promise<Response> {
  return new Response(await String(await piece), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
