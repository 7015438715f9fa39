import type { Visit } from "../shared/page.ts";

/** Server-sent events `unread`: the unread count now, and again after every new message. */
export async function streamUnread(v: Visit): Promise<Response> {
  const { userId } = v.viewer;
  const query = { userId };
  const arrivals = await v.api.answer("streamUserNotifications", { query, signal: v.signal });
  const unread = async () => {
    const count = await v.api.call("countUnreadUserNotifications", { query });
    return `event: unread\ndata: ${count}\n\n`;
  };
  const body = (arrivals.body ?? new ReadableStream<Uint8Array>())
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(
      new TransformStream<string, string>({
        start: async (out) => out.enqueue(await unread()),
        // Other chunks are keep-alives. They are passed on so that proxies keep the connection open.
        transform: async (chunk, out) =>
          out.enqueue(chunk.includes("event: notification") ? await unread() : ": alive\n\n"),
      }),
    )
    .pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
  });
}
