import assert from "node:assert/strict";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { createSmtpTransport } from "../../../infra/mail/smtp.ts";
import { hasOpenssl, makeCertificates } from "./certificates.ts";
import { answer, message, startReceiver, to } from "./receiver.ts";

/** Runs `use` with a transport and closes it afterwards. */
async function withTransport<T>(
  url: string,
  use: (t: ReturnType<typeof createSmtpTransport>) => Promise<T>,
  ca?: string,
) {
  const transport = createSmtpTransport(url, ca === undefined ? {} : { ca });
  try {
    return await use(transport);
  } finally {
    await transport.close();
  }
}

async function failure(sending: Promise<unknown>): Promise<MailDeliveryFailed> {
  const error = await sending.then(() => null, (error: unknown) => error);
  assert(error instanceof MailDeliveryFailed, `expected MailDeliveryFailed, found ${error}`);
  return error;
}

Deno.test("a message arrives with its envelope, headers and attachment; Bcc recipients are not in the headers", async () => {
  await using receiver = await startReceiver();
  const sent = message({
    cc: to("cc@example.test"),
    bcc: to("hidden@example.test", "ann@example.test"),
    subject: "Relatório pronto",
    headers: { "X-Steward-Notification": "42" },
    attachments: [{
      fileName: "números.csv",
      contentType: "text/csv",
      sizeBytes: 5,
      open: () => Promise.resolve(new Blob(["a;b\nc"]).stream()),
    }],
  });
  const clock = { now: () => new Date("2026-01-31T12:00:00Z") };
  const transport = createSmtpTransport(receiver.url, { clock });
  const receipt = await transport.send(sent);
  await transport.close();
  assert.deepEqual(receipt.accepted, ["ann@example.test", "cc@example.test", "hidden@example.test"]);
  assert.deepEqual(receipt.refused, []);
  assert.match(receipt.response, /^250 /);
  const [got] = receiver.received;
  assert.equal(got?.from, "service@steward.test");
  assert.deepEqual(got?.to, receipt.accepted);
  assert.match(got?.raw ?? "", new RegExp(`^Message-ID: <${sent.messageId}>\\r$`, "m"));
  assert.match(got?.raw ?? "", /^Date: Sat, 31 Jan 2026 12:00:00 \+0000\r$/m);
  assert.match(got?.raw ?? "", /^X-Steward-Notification: 42\r$/m);
  assert.match(got?.raw ?? "", /^From: Steward <service@steward\.test>\r$/m);
  assert.match(got?.raw ?? "", /^Subject: =\?UTF-8\?/m);
  assert(got?.raw.includes(btoa("a;b\nc")));
  assert(!got?.raw.includes("hidden@example.test"));
});

for (const [code, permanent] of [[450, false], [452, false], [550, true], [554, true]] as const) {
  Deno.test(`a recipient rejected with ${code} fails the message ${permanent ? "permanently" : "temporarily"}`, async () => {
    await using receiver = await startReceiver();
    const error = await failure(
      withTransport(receiver.url, (t) => t.send(message({ to: to(`code${code}@x.test`) }))),
    );
    assert.equal(error.permanent, permanent);
    assert.equal(error.code, "EENVELOPE");
    assert.equal(error.responseCode, code);
    assert.match(error.message, new RegExp(`at RCPT TO \\(EENVELOPE\\): ${code} `));
    assert.deepEqual(error.refused.map((r) => [r.address, r.permanent]), [[`code${code}@x.test`, permanent]]);
  });
}

Deno.test("recipients that are rejected beside accepted ones are reported with their reasons", async () => {
  await using receiver = await startReceiver();
  const recipients = to("code550@x.test", "ann@x.test", "code451@x.test");
  const receipt = await withTransport(receiver.url, (t) => t.send(message({ to: recipients })));
  assert.deepEqual(receipt.accepted, ["ann@x.test"]);
  assert.deepEqual(receipt.refused.map((r) => [r.address, r.permanent, r.reason.slice(0, 3)]), [
    ["code550@x.test", true, "550"],
    ["code451@x.test", false, "451"],
  ]);
});

Deno.test("if all recipients are rejected and one of them temporarily, the message is retried", async () => {
  await using receiver = await startReceiver();
  const recipients = to("code550@x.test", "code451@x.test");
  const error = await failure(withTransport(receiver.url, (t) => t.send(message({ to: recipients }))));
  assert.equal(error.permanent, false);
  assert.equal(error.refused.length, 2);
});

for (const [code, permanent] of [[451, false], [554, true]] as const) {
  Deno.test(`content rejected with ${code} after DATA fails the message ${permanent ? "permanently" : "temporarily"}`, async () => {
    await using receiver = await startReceiver({
      onData(stream, _session, callback) {
        stream.resume();
        stream.on("end", () => callback(answer(code, "content refused")));
      },
    });
    const error = await failure(withTransport(receiver.url, (t) => t.send(message())));
    assert.deepEqual([error.code, error.responseCode, error.permanent], ["EMESSAGE", code, permanent]);
  });
}

Deno.test("a connection cut during DATA is a temporary failure, and the transport does not send the message again", async () => {
  let attempts = 0;
  await using receiver = await startReceiver({
    onData(stream) {
      attempts++;
      stream.once("data", () => receiver.cut());
    },
  });
  const body = "x".repeat(2_000_000);
  const error = await failure(
    withTransport(receiver.url, (t) => t.send(message({ text: body, html: null }))),
  );
  assert.equal(error.permanent, false);
  assert.equal(attempts, 1);
});

Deno.test("a message whose attachment cannot be read completely is not delivered", async () => {
  await using receiver = await startReceiver();
  let pulls = 0;
  const broken = () =>
    Promise.resolve(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (pulls++ < 3) controller.enqueue(new Uint8Array(1_000));
          else controller.error(new Error("the object store failed"));
        },
      }),
    );
  const attachments = [{ fileName: "a.bin", contentType: "application/zip", sizeBytes: 9_000, open: broken }];
  const error = await failure(withTransport(receiver.url, (t) => t.send(message({ attachments }))));
  assert.equal(error.permanent, false);
  assert.match(error.message, /object store failed/);
  assert.deepEqual(receiver.received, []);
});

Deno.test("a server that never answers is given up after the time limit", async () => {
  await using receiver = await startReceiver({ onRcptTo() {} });
  const error = await failure(withTransport(`${receiver.url}?sendTimeout=200`, (t) => t.send(message())));
  assert.deepEqual([error.code, error.permanent], ["ETIMEDOUT", false]);
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
    const error = await failure(t.send(message({ to: to("slow@x.test") }), stopped.signal));
    assert.deepEqual([error.code, error.permanent], ["EABORT", false]);
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

Deno.test("a refused connection is a temporary failure of sending and of ping", async () => {
  const port = await (async () => {
    await using receiver = await startReceiver();
    return receiver.port;
  })();
  await withTransport(`smtp://127.0.0.1:${port}`, async (t) => {
    for (const error of [await failure(t.send(message())), await failure(t.ping())]) {
      assert.equal(error.permanent, false);
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port} failed`));
    }
  });
});

Deno.test("fifty messages at once use at most the pool's connections", async () => {
  await using receiver = await startReceiver();
  await withTransport(`${receiver.url}?maxConnections=3`, async (t) => {
    await Promise.all(Array.from({ length: 50 }, () => t.send(message())));
  });
  assert.equal(receiver.received.length, 50);
  assert(receiver.connections <= 3, `${receiver.connections} connections`);
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
      assert.deepEqual([error.code, error.responseCode, error.permanent], ["EAUTH", 535, false]);
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
  const error = await failure(withTransport(`${receiver.url}?requireTLS=true`, (t) => t.send(message())));
  assert.equal(error.permanent, false);
  assert.deepEqual(receiver.received, []);
});

Deno.test({
  name: "STARTTLS and implicit TLS work with a trusted authority and fail without it (openssl)",
  ignore: !hasOpenssl,
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
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
        const receipt = await withTransport(url, (t) => t.send(message()), ca);
        assert.equal(receipt.accepted.length, 1, url);
        const error = await failure(withTransport(url, (t) => t.send(message())));
        assert.equal(error.permanent, false, url);
      }
      assert.equal(starttls.received.length + implicit.received.length, 3);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test("line breaks cannot be injected into a header or a command", async () => {
  await using receiver = await startReceiver();
  await withTransport(receiver.url, async (t) => {
    await t.send(message({
      from: { address: "service@steward.test", displayName: "Ann\r\nBcc: evil@x.test" },
      subject: "Hi\r\nX-Evil: 1\n\nbody",
      attachments: [{
        fileName: "a\r\nX-Evil: 2.txt",
        contentType: "text/plain\r\nX-Evil: 3",
        sizeBytes: 1,
        open: () => Promise.resolve(new Blob(["x"]).stream()),
      }],
    }));
    const injected = [
      "a@x.test\r\nRCPT TO:<b@x.test>",
      "a@x.test>",
      "a@x.test,b@x.test",
      "a b@x.test",
      "nobody",
    ];
    const bad = [
      ...injected.map((address) => message({ to: to(address) })),
      message({ from: { address: "a@x.test\nb", displayName: null } }),
      message({ messageId: "a@b>\r\nX-Evil: 4" }),
      message({ headers: { "X-Ok": "a\r\nX-Evil: 5" } }),
      message({ headers: { "X-Evil: 6\r\n": "a" } }),
      message({ headers: { Bcc: "b@x.test" } }),
      message({ to: [] }),
    ];
    for (const each of bad) {
      const error = await failure(t.send(each));
      assert.deepEqual([error.code, error.permanent], ["EINVALID", true]);
    }
  });
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(receiver.received[0]?.to, ["ann@example.test"]);
  assert.doesNotMatch(receiver.received[0]?.raw ?? "", /^(X-Evil|Bcc)/im);
});
