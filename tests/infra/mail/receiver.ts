import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { AddressInfo, Socket } from "node:net";
import type { MailMessage } from "../../../infra/mail/mail.ts";

/** A message as a receiver accepted it: its envelope and the bytes after DATA. */
export interface Received {
  from: string;
  to: string[];
  raw: string;
}

/** An error with the SMTP code that the server answers with. */
export function answer(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/**
 * A real SMTP server on a free port of loopback. By default it accepts everything except recipients named
 * `code450@…`, which it rejects with that code; `options` are smtp-server's own.
 */
export async function startReceiver(options: SMTPServerOptions = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 100,
    onConnect(_session, callback) {
      receiver.connections++;
      callback();
    },
    onRcptTo(address, _session, callback) {
      const code = /^code(\d{3})@/.exec(address.address)?.[1];
      callback(code === undefined ? null : answer(Number(code), "refused as asked"));
    },
    onData(stream, session, callback) {
      const chunks: Uint8Array[] = [];
      stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false || mailFrom === null ? "" : mailFrom.address,
          to: rcptTo.map((recipient) => recipient.address),
          raw: new TextDecoder().decode(Uint8Array.from(chunks.flatMap((chunk) => [...chunk]))),
        });
        callback(null, "queued");
      });
    },
    ...options,
  });
  server.on("error", () => {});
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  const listener = server.listen(0, "127.0.0.1", resolve);
  const sockets = new Set<Socket>();
  listener.on("connection", (socket: Socket) => sockets.add(socket));
  await listening;
  const { port } = listener.address() as AddressInfo;
  const receiver = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received,
    /** Connections accepted so far. */
    connections: 0,
    /** Drops every connection without an answer. */
    cut: () => sockets.forEach((socket) => socket.destroy()),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  };
  return receiver;
}

/** A message with all fields; `change` overrides some of them. */
export function message(change: Partial<MailMessage> = {}): MailMessage {
  return {
    messageId: `${crypto.randomUUID()}@steward.test`,
    from: { address: "service@steward.test", displayName: "Steward" },
    to: [{ address: "ann@example.test", displayName: "Ann" }],
    cc: [],
    bcc: [],
    subject: "Your report",
    html: "<p>Hello</p>",
    text: "Hello",
    headers: {},
    attachments: [],
    ...change,
  };
}

/** Recipients by address, without display names. */
export function to(...addresses: string[]) {
  return addresses.map((address) => ({ address, displayName: null }));
}
