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

/** A stored message. `to` contains all recipients, also cc and bcc. Attachment sizes are the stored bytes. */
export type OutboxMessage = { id: string } & z.infer<typeof storedMessage>;

/** A message to store. Mail is added through the transport instead. */
export interface OutboxAddition {
  channel: OutboxMessage["channel"];
  to: string[];
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  messageId?: string | null;
  attachments?: MailAttachment[];
}

/** Replaces all providers in development: messages are stored on disk instead of being sent, and can be viewed. */
export interface Outbox {
  /** A transport that stores mail in the outbox. It accepts every recipient and does not remove duplicates. */
  readonly mail: MailTransport;
  add(message: OutboxAddition): Promise<OutboxMessage>;
  /** Newest first. */
  list(): Promise<OutboxMessage[]>;
  /** The content of one attachment (`index` from 0), or null if it does not exist. */
  openAttachment(id: string, index: number): Promise<ReadableStream<Uint8Array> | null>;
}

const MESSAGE_FILE = "message.json";
const encoder = new TextEncoder();

/** Opens the outbox in `directory` and creates the directory if it is missing. It keeps the newest `keep` messages. */
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
      const file = path === null ? null : await nullIfMissing(Deno.open(path));
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
  const text = path === null ? null : await nullIfMissing(Deno.readTextFile(path));
  return text === null ? null : { id, ...storedMessage.parse(JSON.parse(text)) };
}

/** Null if the file does not exist: a listed message may be pruned before it is read. */
async function nullIfMissing<T>(opening: Promise<T>): Promise<T | null> {
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
      return { accepted: to, refused: [], response: `250 stored in the outbox as ${id}` };
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
