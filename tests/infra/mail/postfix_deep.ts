import assert from "node:assert/strict";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { createSmtpTransport } from "../../../infra/mail/smtp.ts";
import { canRunPostfix, startPostfix } from "../../support/postfix.ts";
import { hasOpenssl, makeCertificates } from "./certificates.ts";
import { message, to } from "./receiver.ts";

Deno.test({
  name: "mail is delivered, deferred or rejected as Debian's Postfix answers (Postfix, root)",
  ignore: !canRunPostfix || !hasOpenssl,
  async fn(t) {
    const run = await Deno.makeTempDir();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => Deno.remove(run, { recursive: true }));
    const certificates = await makeCertificates(run);
    const postfix = cleanup.use(await startPostfix(run, certificates));
    const plain = createSmtpTransport(`smtp://127.0.0.1:${postfix.plainPort}`);
    cleanup.defer(() => plain.close());
    const submission = (password: string) =>
      createSmtpTransport(
        `smtp://mailer%40peer.test:${password}@localhost:${postfix.submissionPort}?requireTLS=true`,
        { ca: certificates.ca },
      );
    const refusal = async (sending: Promise<unknown>) => {
      const error = await sending.then(() => null, (error: unknown) => error);
      assert(error instanceof MailDeliveryFailed, `expected MailDeliveryFailed, found ${error}`);
      return error;
    };

    await t.step("a message is delivered with its Message-ID", async () => {
      const sent = message({ subject: "Olá ✓", bcc: to("hidden@peer.test") });
      const receipt = await plain.send(sent);
      assert.deepEqual(receipt.accepted, ["ann@example.test", "hidden@peer.test"]);
      assert.match(receipt.response, /^250 2\.0\.0 Ok: queued as /);
      assert.match(await postfix.delivered(sent.messageId), /^From: Steward <service@steward\.test>$/m);
    });
    await t.step("the only recipient is rejected", async () => {
      const expected = {
        busy: [450, false],
        greylist: [451, false],
        full: [452, false],
        unknown: [550, true],
        blocked: [554, true],
      } as const;
      for (const [name, [code, permanent]] of Object.entries(expected)) {
        const error = await refusal(plain.send(message({ to: to(`${name}@peer.test`) })));
        assert.deepEqual([error.responseCode, error.permanent], [code, permanent], name);
      }
    });
    await t.step("an attachment that is too large once encoded is not opened", async () => {
      const attachment = (sizeBytes: number) => {
        let isOpened = false;
        const open =
          () => (isOpened = true, Promise.resolve(ReadableStream.from([new Uint8Array(sizeBytes)])));
        const sent = message({ attachments: [{ fileName: "a", contentType: "a/b", sizeBytes, open }] });
        return { sent, wasOpened: () => isOpened };
      };
      const large = attachment(8_000_000); // the server's limit is Postfix's own, 10,240,000 bytes
      const error = await refusal(plain.send(large.sent));
      assert.deepEqual([error.isTooLarge, error.permanent, large.wasOpened()], [true, true, false]);
      assert.equal((await plain.send(attachment(7_000_000).sent)).accepted.length, 1);
    });
    await t.step("421 or 521 with a closed connection leads to a retry, and the pool recovers", async () => {
      for (const name of ["hangup", "drop"]) {
        assert.equal((await refusal(plain.send(message({ to: to(`${name}@peer.test`) })))).permanent, false);
        assert.equal((await plain.send(message())).accepted.length, 1);
      }
    });
    await t.step("a server that requires STARTTLS, and one with implicit TLS", async () => {
      const urls = [
        `smtp://localhost:${postfix.starttlsPort}`,
        `smtps://localhost:${postfix.implicitTlsPort}`,
      ];
      for (const url of urls) {
        const trusting = createSmtpTransport(url, { ca: certificates.ca });
        const sent = message();
        await trusting.send(sent);
        assert.match(await postfix.delivered(sent.messageId), /with ESMTPS/);
        await trusting.close();
        const untrusting = createSmtpTransport(url);
        assert.equal((await refusal(untrusting.send(message()))).permanent, false, "an unknown authority");
        await untrusting.close();
      }
      const tlsOnPlainPort = createSmtpTransport(`smtps://localhost:${postfix.plainPort}`, {
        ca: certificates.ca,
      });
      assert.equal((await refusal(tlsOnPlainPort.send(message()))).permanent, false);
      await tlsOnPlainPort.close();
      const requiringTls = createSmtpTransport(`smtp://127.0.0.1:${postfix.plainPort}?requireTLS=true`);
      const error = await refusal(requiringTls.send(message()));
      assert.deepEqual([error.code, error.reason], ["ETLS", "the mail server offered no secure connection"]);
      await requiringTls.close();
    });
    await t.step("the failure text for the sender contains no host name", async () => {
      const errors = [
        await refusal(plain.send(message({ to: to("busy@peer.test") }))),
        await refusal(plain.send(message({ to: to("hangup@peer.test") }))),
        await refusal(createSmtpTransport("smtp://127.0.0.1:1").send(message())),
      ];
      for (const { reason } of errors) assert.doesNotMatch(reason, /127\.0\.0\.1|localhost|:\d/);
      assert.match(errors[0]?.reason ?? "", /^450 4\.2\.0 .*Mailbox busy/);
      assert.equal(errors[2]?.reason, "the mail server could not be reached (ESOCKET)");
    });
    await t.step("content is rejected after DATA", async () => {
      const error = await refusal(plain.send(message({ subject: "[reject-data]" })));
      assert.deepEqual([error.code, error.responseCode, error.permanent], ["EMESSAGE", 550, true]);
    });
    await t.step("sign-in over STARTTLS", async () => {
      const right = submission("mailpass");
      await right.ping();
      const sent = message();
      await right.send(sent);
      assert.match(await postfix.delivered(sent.messageId), /using TLSv1|with ESMTPSA/);
      await right.close();
      const wrong = submission("wrong");
      const error = await refusal(wrong.send(message()));
      assert.deepEqual([error.code, error.responseCode, error.permanent], ["EAUTH", 535, false]);
      assert.equal(error.reason, "the mail server refused the sign-in");
      await wrong.close();
      const anonymous = createSmtpTransport(`smtp://localhost:${postfix.submissionPort}`, {
        ca: certificates.ca,
      });
      assert.match((await refusal(anonymous.send(message()))).reason, /^(530|554) /);
      await anonymous.close();
    });
  },
});
