import assert from "node:assert/strict";
import { Readable } from "node:stream";
import fc from "fast-check";
import MailComposer from "nodemailer/lib/mail-composer";
import { sendWhole } from "../../../infra/mail/smtp.ts";

const pieces = ["a word ", "Ação", "=", ".", "\n", "\r\n", "\r", " ", "\t", "x".repeat(80), "日本語", "🙂"];
const part = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((pieces) => pieces.join("")),
);

const withoutSoftBreaks = (mail: Uint8Array): string => String(mail).replaceAll("=\r\n", "");
const longestLine = (mail: Uint8Array): number =>
  Math.max(76, ...String(mail).split("\r\n").map((line) => line.length));

Deno.test("a message sent as one text is the one that nodemailer writes part by part", async () => {
  const property = fc.asyncProperty(
    fc.record({ text: part, html: part, subject: part }, { requiredKeys: ["subject"] }),
    async (texts) => {
      const message = new MailComposer({
        ...texts,
        from: "Ann <ann@example.test>",
        to: [{ name: "João", address: "joao@example.test" }],
        headers: { "X-Reference": "1" },
      }).compile();
      const expected = await message.build();
      sendWhole(message);
      const whole = await message.build();
      assert.equal(withoutSoftBreaks(whole), withoutSoftBreaks(expected));
      assert.ok(longestLine(whole) <= longestLine(expected));
    },
  );
  await fc.assert(property, { numRuns: 30 });
});

Deno.test("a message with an attachment or a long text is written in steps", () => {
  const attachments = [{ filename: "a.txt", content: Readable.from(["a"]) }];
  for (const rest of [{ attachments }, { html: "x".repeat(20_000) }]) {
    const message = new MailComposer({ text: "Hello", to: "ann@example.test", ...rest }).compile();
    message.setRaw = () => assert.fail("the message was made one text");
    sendWhole(message);
  }
});
