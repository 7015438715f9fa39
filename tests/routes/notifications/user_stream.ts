import assert from "node:assert/strict";
import type { Actor, TestService } from "../../support/setup.ts";

/** Opens a user's stream, with the token or a ticket; `next` gives the next event as `[id, title]`, `end` waits until the service ends it. */
export async function openStream(
  t: Pick<TestService, "url">,
  { userId, token }: Actor,
  lastEventId?: string,
  ticket?: string,
) {
  const address = `${t.url}/api/v1/user-notifications/stream?userId=${userId}`;
  const credential: HeadersInit = ticket ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(ticket ? `${address}&ticket=${ticket}` : address, {
    headers: { ...credential, ...(lastEventId ? { "last-event-id": lastEventId } : {}) },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail("no body");
  let buffer = "";
  const chunk = async () => {
    const { value, done } = await reader.read();
    buffer += value ?? "";
    return !done;
  };
  await chunk();
  const begun = /^id: (\d+)\nretry: \d+\n\n/.exec(buffer) ?? assert.fail(`the stream began with ${buffer}`);
  return {
    /** The Last-Event-ID of a client that reconnects before the first event. */
    firstId: begun[1] ?? "",
    async next(): Promise<[id: string, title: string]> {
      for (;;) {
        const event = /id: (\d+)\nevent: notification\ndata: (.*)\n\n/.exec(buffer);
        if (event) {
          buffer = buffer.slice(event.index + event[0].length);
          return [event[1] ?? "", JSON.parse(event[2] ?? "").title];
        }
        assert.ok(await chunk(), "the stream ended");
      }
    },
    async end() {
      while (await chunk());
    },
    close: () => reader.cancel(),
  };
}
