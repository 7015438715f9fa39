import assert from "node:assert/strict";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { createSmtpTransport } from "../../../infra/mail/smtp.ts";
import { has } from "../../support/answers.ts";
import { atEnd } from "../../support/at_end.ts";
import { hasOpenssl, makeCertificates } from "./certificates.ts";
import { answer, message, startReceiver, to } from "./receiver.ts";

/** Runs `use` with a transport and closes it afterwards. */
async function withTransport<T>(
  url: string,
  use: (t: ReturnType<typeof createSmtpTransport>) => Promise<T>,
  o: { ca?: string; clock?: { now(): Date } } = {},
) {
  const transport = createSmtpTransport(url, o);
  return await use(transport).finally(() => transport.close());
}
type Change = Parameters<typeof message>[0];
const send = (url: string, change: Change = {}, o: { ca?: string } = {}) =>
  withTransport(url, (t) => t.send(message(change)), o);

async function failure(sending: Promise<unknown>): Promise<MailDeliveryFailed> {
  const error = await sending.then(() => null, (error: unknown) => error);
  assert(error instanceof MailDeliveryFailed, `expected MailDeliveryFailed, found ${error}`);
  return error;
}

/** Fails the delivery; the error has these members. */
async function fails(sending: Promise<unknown>, expected: Partial<MailDeliveryFailed>): Promise<void> {
  has(await failure(sending), expected);
}
const attachment = (fileName: string, open: () => ReadableStream<Uint8Array>) => ({
  fileName,
  contentType: "text/csv",
  sizeBytes: 5,
  open: () => Promise.resolve(open()),
});

Deno.test("a message arrives with its envelope, headers and attachment; Bcc recipients are not in the headers", async () => {
  await using receiver = await startReceiver();
  const sent = message({
    cc: to("cc@example.test"),
    bcc: to("hidden@example.test", "ann@example.test"),
    subject: "Relatório pronto",
    headers: { "X-Steward-Notification": "42" },
    attachments: [attachment("números.csv", () => new Blob(["a;b\nc"]).stream())],
  });
  const clock = { now: () => new Date("2026-01-31T12:00:00Z") };
  const receipt = await withTransport(receiver.url, (t) => t.send(sent), { clock });
  assert.deepEqual(receipt.accepted, ["ann@example.test", "cc@example.test", "hidden@example.test"]);
  assert.deepEqual(receipt.refused, []);
  assert.match(receipt.response, /^250 /);
  const { from, to: recipients, raw } = receiver.received[0] ?? assert.fail();
  assert.deepEqual([from, recipients], ["service@steward.test", receipt.accepted]);
  const lines = [
    `Message-ID: <${sent.messageId}>`,
    "Date: Sat, 31 Jan 2026 12:00:00 +0000",
    "X-Steward-Notification: 42",
    "From: Steward <service@steward.test>",
  ];
  for (const line of lines) assert(raw.includes(`\r\n${line}\r\n`) || raw.startsWith(`${line}\r\n`), line);
  assert.match(raw, /^Subject: =\?UTF-8\?/m);
  assert(raw.includes(btoa("a;b\nc")));
  assert(!raw.includes("hidden@example.test"));
});

Deno.test("a rejected recipient, or rejected content, fails the message permanently with 5xx and temporarily with 4xx", async () => {
  let code = 0;
  await using receiver = await startReceiver();
  await fails(send(receiver.url, { to: to("code421@x.test") }), { code: "ECONNECTION", permanent: false });
  await fails(send(receiver.url, { to: to("code550@x.test", "code451@x.test") }), { permanent: false });
  await using strict = await startReceiver({
    onData(stream, _session, callback) {
      stream.resume();
      stream.on("end", () => callback(answer(code, "content refused")));
    },
  });
  for (const [responseCode, permanent] of [[450, false], [452, false], [550, true], [552, true]] as const) {
    const address = `code${responseCode}@x.test`;
    const error = await failure(send(receiver.url, { to: to(address) }));
    const refused = [{ address, permanent }];
    has(error, { permanent, code: "EENVELOPE", responseCode, refused, isTooLarge: false });
    assert.match(error.message, new RegExp(`at RCPT TO \\(EENVELOPE\\): ${responseCode} `));
    code = responseCode;
    const isTooLarge = responseCode === 552;
    await fails(send(strict.url), { code: "EMESSAGE", responseCode, permanent, isTooLarge });
  }
});

Deno.test("an attachment that is too large for the server once encoded is not opened", async () => {
  await using receiver = await startReceiver({ size: 1_000_000 });
  const opened: number[] = [];
  const sized = (sizeBytes: number) => {
    const content = () => (opened.push(sizeBytes), new Blob([new Uint8Array(sizeBytes)]).stream());
    return { attachments: [{ ...attachment("a.bin", content), sizeBytes }] };
  };
  await fails(send(receiver.url, sized(800_000)), { isTooLarge: true, permanent: true });
  assert.equal((await send(receiver.url, sized(700_000))).accepted.length, 1);
  assert.deepEqual(opened, [700_000]);
});

Deno.test("a connection cut during DATA is a temporary failure, and the transport does not send the message again", async () => {
  let attempts = 0;
  await using receiver = await startReceiver({
    onData(stream) {
      attempts++;
      stream.once("data", () => receiver.cut());
    },
  });
  await fails(send(receiver.url, { text: "x".repeat(2_000_000), html: null }), { permanent: false });
  assert.equal(attempts, 1);
});

Deno.test("a message whose attachment cannot be read completely is not delivered, and fails with the attachment's error", async () => {
  await using receiver = await startReceiver();
  const away = new Error("the object store failed");
  let pulls = 0;
  const broken = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulls++ < 3) controller.enqueue(new Uint8Array(1_000));
        else controller.error(away);
      },
    });
  const closed = { ...attachment("b.bin", broken), open: () => Promise.reject(away) };
  for (const each of [attachment("a.bin", broken), closed]) {
    await assert.rejects(send(receiver.url, { attachments: [each] }), away);
  }
  assert.deepEqual(receiver.received, []);
});

Deno.test("a server that never answers is given up after the time limit", async () => {
  await using receiver = await startReceiver({ onRcptTo() {} });
  await fails(send(`${receiver.url}?sendTimeout=200`), { code: "ETIMEDOUT", permanent: false });
});

Deno.test("an aborted delivery ends at once and leaves the pool usable", async () => {
  const stopped = new AbortController();
  await using receiver = await startReceiver({
    onRcptTo(address, _session, callback) {
      if (address.address.startsWith("slow@")) stopped.abort();
      else callback();
    },
  });
  await withTransport(receiver.url, async (t) => {
    const aborted = t.send(message({ to: to("slow@x.test") }), stopped.signal);
    await fails(aborted, { code: "EABORT", permanent: false });
    assert.equal((await t.send(message())).accepted.length, 1);
  });
});

Deno.test("close lets a running delivery finish and rejects the next one", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using receiver = await startReceiver({
    async onRcptTo(_address, _session, callback) {
      begun.resolve();
      await goOn.promise;
      callback();
    },
  });
  const transport = createSmtpTransport(receiver.url);
  const sending = transport.send(message());
  await begun.promise;
  const closing = transport.close();
  goOn.resolve();
  await closing;
  assert.equal((await sending).accepted.length, 1);
  assert.equal((await failure(transport.send(message()))).permanent, false);
});

Deno.test("a wrong password is not the message's failure, and the password is not in the error", async () => {
  await using receiver = await startReceiver({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (auth, _session, callback) =>
      auth.password === "s3cret!" ? callback(null, { user: "ok" }) : callback(answer(535, "no")),
  });
  const at = (password: string) => `smtp://mailer:${encodeURIComponent(password)}@127.0.0.1:${receiver.port}`;
  await withTransport(at("wr0ng-pass"), async (t) => {
    for (const error of [await failure(t.send(message())), await failure(t.ping())]) {
      const reason = "the mail server refused the sign-in";
      has(error, { code: "EAUTH", responseCode: 535, permanent: false, reason });
      assert(!JSON.stringify({ ...error, message: error.message }).includes("wr0ng-pass"));
    }
  });
  await withTransport(at("s3cret!"), async (t) => {
    await t.ping();
    await t.send(message());
  });
  assert.equal(receiver.received.length, 1);
});

Deno.test("requireTLS rejects a server without TLS", async () => {
  await using receiver = await startReceiver();
  const reason = "the mail server offered no secure connection";
  await fails(send(`${receiver.url}?requireTLS=true`), { code: "ETLS", permanent: false, reason });
  assert.deepEqual(receiver.received, []);
});

Deno.test({
  name: "STARTTLS and implicit TLS work with a trusted authority and fail without it (openssl)",
  ignore: !hasOpenssl,
  async fn() {
    const directory = await Deno.makeTempDir();
    await using _ = atEnd(() => Deno.remove(directory, { recursive: true }));
    const { ca, certFile, keyFile } = await makeCertificates(directory);
    const tls = { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
    await using starttls = await startReceiver({ ...tls, disabledCommands: [] });
    await using implicit = await startReceiver({ ...tls, secure: true });
    const urls = [
      `smtp://localhost:${starttls.port}?requireTLS=true`,
      `smtps://localhost:${implicit.port}`,
      `smtp://localhost:${starttls.port}`,
    ];
    for (const url of urls) {
      assert.equal((await send(url, {}, { ca })).accepted.length, 1, url);
      await fails(send(url), { permanent: false });
    }
    assert.equal(starttls.received.length + implicit.received.length, 3);
  },
});

Deno.test("line breaks cannot be injected into a header or a command", async () => {
  await using receiver = await startReceiver();
  await withTransport(receiver.url, async (t) => {
    await t.send(message({
      from: { address: "service@steward.test", displayName: "Ann\r\nBcc: evil@x.test" },
      subject: "Hi\r\nX-Evil: 1\n\nbody",
      attachments: [{
        ...attachment("a\r\nX-Evil: 2.txt", () => new Blob(["x"]).stream()),
        contentType: "text/plain\r\nX-Evil: 3",
      }],
    }));
    const injected = [
      "a@x.test\r\nRCPT TO:<b@x.test>",
      "a@x.test>",
      "a@x.test,b@x.test",
      "a b@x.test",
      "nobody",
    ];
    const bad: Change[] = [
      ...injected.map((address) => ({ to: to(address) })),
      { from: { address: "a@x.test\nb", displayName: null } },
      { messageId: "a@b>\r\nX-Evil: 4" },
      { headers: { "X-Ok": "a\r\nX-Evil: 5" } },
      { headers: { "X-Evil: 6\r\n": "a" } },
      { headers: { Bcc: "b@x.test" } },
      { to: [] },
    ];
    for (const change of bad) await fails(t.send(message(change)), { code: "EINVALID", permanent: true });
  });
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(receiver.received[0]?.to, ["ann@example.test"]);
  assert.doesNotMatch(receiver.received[0]?.raw ?? "", /^(X-Evil|Bcc)/im);
});
