import { join } from "node:path";
import { z } from "zod";
import type { MailAttachment, MailTransport } from "./mail.ts";
import { recipientsOf, safeMessage } from "./message_safety.ts";
import { type EntryStore, openEntryStore, writeDurably } from "./outbox_store.ts";

const storedMessage = z.object({
  channel: z.enum(["Email", "Push", "Sms"]),
  to: z.array(z.string()),
  subject: z.string().nullable(),
  htmlBody: z.string().nullable(),
  textBody: z.string().nullable(),
  attachments: z.array(z.object({ fileName: z.string(), contentType: z.string(), sizeBytes: z.number() })),
  messageId: z.string().nullable(),
  sentAt: z.iso.datetime(),
});

/** A message as the outbox lists it. `to` holds every recipient, copies included; sizes are those received. */
export type OutboxMessage = { id: string } & z.infer<typeof storedMessage>;

/** A message to keep; mail comes in through the transport. */
export interface OutboxAddition {
  channel: OutboxMessage["channel"];
  to: string[];
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  messageId?: string | null;
  attachments?: MailAttachment[];
}

/** Stands in for all providers in development: what would have been sent is kept on disk and can be looked at. */
export interface Outbox {
  /** Sends mail into the outbox. Every recipient is accepted, the same message twice is kept twice. */
  readonly mail: MailTransport;
  add(message: OutboxAddition): Promise<OutboxMessage>;
  /** Newest first. */
  list(): Promise<OutboxMessage[]>;
  /** The bytes of one attachment (`index` from 0), or null when there is none such. */
  openAttachment(id: string, index: number): Promise<ReadableStream<Uint8Array> | null>;
}

const MESSAGE_FILE = "message.json";
const encoder = new TextEncoder();

/** Opens the outbox in `directory`, which is made if need be. It keeps the newest `keep` messages. */
export async function openOutbox(
  directory: string,
  { keep = 500, now = () => new Date() }: { keep?: number; now?: () => Date } = {},
): Promise<Outbox> {
  const store = await openEntryStore(directory, keep, now);
  const add = (message: OutboxAddition, signal?: AbortSignal) => addMessage(store, message, now(), signal);
  return {
    mail: mailTransport(add),
    add: (message) => add(message),
    async list() {
      const messages = await Promise.all((await store.ids()).map((id) => readMessage(store, id)));
      return messages.filter((message) => message !== null);
    },
    async openAttachment(id, index) {
      const path = Number.isInteger(index) && index >= 0 ? store.path(id, String(index)) : null;
      const file = path === null ? null : await unlessGone(Deno.open(path));
      return file?.readable ?? null;
    },
  };
}

async function addMessage(
  store: EntryStore,
  { attachments: given = [], messageId = null, ...message }: OutboxAddition,
  sentAt: Date,
  signal?: AbortSignal,
): Promise<OutboxMessage> {
  const attachments: OutboxMessage["attachments"] = [];
  const stored = { ...message, attachments, messageId, sentAt: sentAt.toISOString() };
  const id = await store.add(async (directory) => {
    for (const [index, attachment] of given.entries()) {
      signal?.throwIfAborted();
      const { fileName, contentType } = attachment;
      const sizeBytes = await writeDurably(join(directory, String(index)), await attachment.open());
      attachments.push({ fileName, contentType, sizeBytes });
    }
    await writeDurably(join(directory, MESSAGE_FILE), [encoder.encode(JSON.stringify(stored))]);
  });
  return { id, ...stored };
}

async function readMessage(store: EntryStore, id: string): Promise<OutboxMessage | null> {
  const path = store.path(id, MESSAGE_FILE);
  const text = path === null ? null : await unlessGone(Deno.readTextFile(path));
  return text === null ? null : { id, ...storedMessage.parse(JSON.parse(text)) };
}

/** A listing may meet a message that is being thinned out at that moment. */
async function unlessGone<T>(opening: Promise<T>): Promise<T | null> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function mailTransport(
  add: (message: OutboxAddition, signal?: AbortSignal) => Promise<OutboxMessage>,
): MailTransport {
  return {
    name: "outbox",
    async send(message, signal) {
      const safe = safeMessage(message);
      const { subject, html: htmlBody, text: textBody, messageId, attachments } = safe;
      const to = recipientsOf(safe);
      const { id } = await add(
        { channel: "Email", to, subject, htmlBody, textBody, messageId, attachments },
        signal,
      );
      return { accepted: to, refused: [], response: `250 kept in the outbox as ${id}` };
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
