import { join } from "node:path";
import { z } from "zod";
import type { MailAttachment, MailTransport } from "./mail.ts";
import { recipientsOf, safeMessage } from "./message_safety.ts";

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
export interface OutboxAddition
  extends Pick<OutboxMessage, "channel" | "to" | "subject" | "htmlBody" | "textBody"> {
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

/** A directory of entries. Each entry is a directory that is added atomically. */
interface EntryStore {
  /** The ids of the kept entries, newest first. */
  ids(): Promise<string[]>;
  /** Adds an entry. It becomes visible when `fill` has finished. @returns its id */
  add(fill: (directory: string) => Promise<void>): Promise<string>;
  /** The path of a file of an entry, or null if `id` is not a valid entry id. */
  path(id: string, file: string): string | null;
}

const ENTRY = /^\d{13}-\d{6}-[0-9a-f]{8}$/;
const UNFINISHED = ".adding-";
const STALE_MILLISECONDS = 3_600_000;
/** Surplus entries are pruned once per this many additions, because reading the directory costs more than adding. */
const PRUNE_EVERY = 50;

/** Opens the directory, creates it if it is missing, and deletes unfinished entries of a crash. Keeps `keep` entries. */
async function openEntryStore(directory: string, keep: number, now: () => Date): Promise<EntryStore> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  for await (const { name } of Deno.readDir(directory)) {
    if (name.startsWith(UNFINISHED)) await removeIfStale(join(directory, name));
  }
  let count = 0;
  const all = async () => {
    const found: string[] = [];
    for await (const { name } of Deno.readDir(directory)) if (ENTRY.test(name)) found.push(name);
    return found.sort().reverse();
  };
  return {
    ids: async () => (await all()).slice(0, keep),
    async add(fill) {
      const time = String(now().getTime()).padStart(13, "0");
      const number = count++;
      const order = String(number % 1_000_000).padStart(6, "0");
      const id = `${time}-${order}-${crypto.randomUUID().slice(0, 8)}`;
      const unfinished = join(directory, UNFINISHED + id);
      await Deno.mkdir(unfinished);
      try {
        await fill(unfinished);
        await Deno.rename(unfinished, join(directory, id));
      } catch (error) {
        await removeEntry(unfinished);
        throw error;
      }
      if (number % PRUNE_EVERY === 0) {
        for (const surplus of (await all()).slice(keep)) await removeEntry(join(directory, surplus));
      }
      return id;
    },
    path: (id, file) => ENTRY.test(id) ? join(directory, id, file) : null,
  };
}

/** Writes a file and waits until it is on disk (fdatasync). @returns the bytes written */
async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const file = await Deno.open(path, { write: true, createNew: true });
  let written = 0;
  try {
    for await (const chunk of content) {
      for (let rest = chunk; rest.length > 0;) rest = rest.subarray(await file.write(rest));
      written += chunk.length;
    }
    await file.syncData();
  } finally {
    file.close();
  }
  return written;
}

/** Deletes an unfinished entry if it is old. A recent one may belong to another process that is still writing it. */
async function removeIfStale(path: string): Promise<void> {
  const changed = (await Deno.stat(path)).mtime?.getTime() ?? 0;
  if (Date.now() - changed > STALE_MILLISECONDS) await removeEntry(path);
}

async function removeEntry(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    // another process may prune the same entry at the same time
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
