import type { Visit } from "../shared/page.ts";

/** How many messages are unread, told anew whenever one arrives: server-sent events named `unread`. */
export async function streamUnread(v: Visit): Promise<Response> {
  const { userId } = v.viewer;
  const arrivals = await v.api.call(
    "GET",
    `user-notifications/stream?userId=${userId}`,
    undefined,
    {},
    v.signal,
  );
  const unread = async () => {
    const count = await v.api.get<number>("user-notifications/unread-count", { userId });
    return `event: unread\ndata: ${count}\n\n`;
  };
  const body = (arrivals.body ?? new ReadableStream<Uint8Array>())
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(
      new TransformStream<string, string>({
        start: async (out) => out.enqueue(await unread()),
        // What is not a message is a sign of life, handed on so that proxies keep the connection.
        transform: async (chunk, out) =>
          out.enqueue(chunk.includes("event: notification") ? await unread() : ": alive\n\n"),
      }),
    )
    .pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
  });
}
