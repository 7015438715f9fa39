import assert from "node:assert/strict";
import { join } from "node:path";
import { openOutbox, type Outbox } from "../../../infra/mail/outbox.ts";
import { message, to } from "./receiver.ts";

async function withOutbox(
  use: (outbox: Outbox, directory: string) => Promise<void>,
  keep = 500,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  await use(await openOutbox(directory, { keep }), directory).finally(() =>
    Deno.remove(directory, { recursive: true })
  );
}
const attachment = (fileName: string, text: string) => ({
  fileName,
  contentType: "text/plain",
  sizeBytes: 0,
  open: () => Promise.resolve(new Blob([text]).stream()),
});
const phone = { channel: "Sms" as const, to: ["+351912345678"], subject: null, htmlBody: null };
const sms = (textBody: string) => ({ ...phone, textBody });

Deno.test("mail in the outbox is listed with all its fields, newest first", () =>
  withOutbox(async (outbox) => {
    await outbox.add({ ...sms("first"), channel: "Push" });
    const sent = message({
      bcc: to("hidden@x.test"),
      attachments: [attachment("a.txt", "one"), attachment("b.txt", "two!")],
    });
    const receipt = await outbox.mail.send(sent);
    assert.deepEqual(receipt.accepted, ["ann@example.test", "hidden@x.test"]);
    const [mail, push, ...rest] = await outbox.list();
    assert.deepEqual(rest, []);
    assert.equal(push?.channel, "Push");
    const { id, sentAt, ...fields } = mail ?? assert.fail("nothing is listed");
    assert.deepEqual(fields, {
      channel: "Email",
      to: receipt.accepted,
      subject: "Your report",
      htmlBody: "<p>Hello</p>",
      textBody: "Hello",
      messageId: sent.messageId,
      attachments: [
        { fileName: "a.txt", contentType: "text/plain", sizeBytes: 3 },
        { fileName: "b.txt", contentType: "text/plain", sizeBytes: 4 },
      ],
    });
    assert(Date.parse(sentAt) > 0);
    assert.equal(await new Response(await outbox.openAttachment(id, 1)).text(), "two!");
  }));

Deno.test("the same message sent twice is listed twice, also after a restart", () =>
  withOutbox(async (outbox, directory) => {
    const sent = message();
    await outbox.mail.send(sent);
    await outbox.mail.send(sent);
    const again = await openOutbox(directory);
    assert.deepEqual((await again.list()).map((kept) => kept.messageId), [sent.messageId, sent.messageId]);
  }));

Deno.test("only the newest messages are kept, also with concurrent writers", () =>
  withOutbox(async (outbox, directory) => {
    for (let index = 0; index < 8; index++) await outbox.add(sms(`${index}`));
    assert.deepEqual((await outbox.list()).map((kept) => kept.textBody), ["7", "6", "5", "4", "3"]);
    const other = await openOutbox(directory, { keep: 5 });
    await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 ? outbox : other).add(sms("x"))));
    assert.equal((await outbox.list()).length, 5);
  }, 5));

Deno.test("a message that could not be written completely, or has no valid recipient, leaves no file", () =>
  withOutbox(async (outbox, directory) => {
    const open = () => Promise.reject(new Error("the object store failed"));
    const broken = { ...attachment("a", ""), open };
    const failing = message({ attachments: [attachment("b", "x"), broken] });
    await assert.rejects(outbox.mail.send(failing), /the object store failed/);
    await assert.rejects(outbox.mail.send(message({ to: to("nobody") })), { name: "MailDeliveryFailed" });
    assert.deepEqual(await outbox.list(), []);
    assert.deepEqual([...Deno.readDirSync(directory)], []);
  }));

Deno.test("files that a crash left half-written are not listed, and are deleted once they are old", () =>
  withOutbox(async (_outbox, directory) => {
    const old = join(directory, ".adding-old");
    await Deno.mkdir(old);
    await Deno.utime(old, new Date(0), new Date(0));
    await Deno.mkdir(join(directory, ".adding-young"));
    const again = await openOutbox(directory);
    assert.deepEqual(await again.list(), []);
    assert.deepEqual([...Deno.readDirSync(directory)].map((entry) => entry.name), [".adding-young"]);
  }));

Deno.test("attachments are found only by exact id and index", () =>
  withOutbox(async (outbox) => {
    const { id } = await outbox.add({ ...sms("x"), attachments: [attachment("a", "x")] });
    await (await outbox.openAttachment(id, 0))?.cancel();
    for (const index of [1, -1, 0.5]) assert.equal(await outbox.openAttachment(id, index), null);
    for (const wrong of ["../..", `${id}/..`, ""]) assert.equal(await outbox.openAttachment(wrong, 0), null);
  }));
