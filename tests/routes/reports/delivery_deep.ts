// Large documents: mail servers that refuse their size, and a bucket that gets them in several parts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { pluck } from "../../support/answers.ts";
import {
  delivered,
  EMAIL,
  fetchDocument,
  generateLater,
  reached,
  setupReports,
  setupSharedReports,
  sizeAt,
  STATUS,
  STORAGE,
} from "./support.ts";
import { createTarget, MANAGER, startOtherStore } from "./target_support.ts";

Deno.test("a document too large for the mail server is sent as a link, whether the limit is announced or found after DATA", async () => {
  const limit = 300_000;
  const problem = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode });
  /** All DATA bytes that the server without an announced limit has received. */
  let carried = 0;
  await using announcing = await startReceiver({
    size: limit,
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith("later") ? problem(451, "later") : null),
  });
  await using silent = await startReceiver({
    onData(stream, session, callback) {
      let raw = "";
      stream.on("data", (chunk: Uint8Array) => raw += new TextDecoder("latin1").decode(chunk));
      stream.on("end", () => {
        carried += raw.length;
        if (raw.length > limit) return callback(problem(552, "5.3.4 Message too big"));
        silent.received.push({ from: "", to: session.envelope.rcptTo.map(({ address }) => address), raw });
        callback(null, "queued");
      });
    },
  });
  const SMTP_URL = `${announcing.url},${silent.url}`;
  const t = await setupReports({ SMTP_URL, MAIL_FROM: "r@steward.test" });
  try {
    const actor = await t.actor({ permissions: ["send:notifications"] });
    const mailOf = async (address: string, rows: number) => {
      const delivery = { method: EMAIL, recipients: [address] };
      const request = { templateId: "lines", parameters: { rows, width: 1_000 }, delivery };
      const { id } = await generateLater(actor, request);
      const { fileSizeBytes } = await reached(actor, id, STATUS.Delivered);
      const [mail, ...more] = [...announcing.received, ...silent.received].filter(({ to }) =>
        to.includes(address)
      );
      assert.equal(more.length, 0);
      const text = (mail?.raw ?? "").replaceAll("=\r\n", "");
      const link = /https?:\/\/[^\s<"]+\/r\/[\w-]+/.exec(text)?.[0] ?? null;
      return { link, isAttached: /^Content-Disposition: attachment/m.test(text), fileSizeBytes };
    };
    const small = await mailOf("small@x.test", 200);
    assert.deepEqual([small.isAttached, small.link], [true, null]);
    for (const address of ["large@x.test", "later@x.test"]) {
      const { isAttached, link, fileSizeBytes } = await mailOf(address, 250); // 342 kB when encoded for mail
      assert.ok(fileSizeBytes < limit);
      assert.equal(isAttached, false, address);
      assert.equal(await sizeAt(link ?? ""), fileSizeBytes);
    }
    assert.ok(carried > limit, "the one that does not announce its limit had to see all of it");
    const { items } = (await actor.get("/api/v1/notifications")).body;
    assert.deepEqual(pluck(items, "status"), ["Sent", "Sent", "Sent"]);
  } finally {
    await t.stop();
  }
});

Deno.test("a document of several parts is streamed into the bucket of somebody else", async () => {
  const other = await startOtherStore();
  const t = await setupSharedReports();
  try {
    const actor = await t.actor({ permissions: MANAGER });
    const targetId = await createTarget(actor, other.target);
    const { id } = await generateLater(actor, {
      templateId: "lines",
      parameters: { rows: 2_000, width: 10_000 },
      delivery: { method: STORAGE, targetId, targetPath: "{executionId}.csv" },
    });
    const { fileSizeBytes, deliveryStatus } = await delivered(actor, id);
    assert.equal(deliveryStatus, "Delivered");
    assert.ok(fileSizeBytes > 16 * 1024 * 1024);
    const sha256 = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");
    const stored = await new Response(await other.objects.read(`from/steward/${id}.csv`)).bytes();
    assert.equal(sha256(stored), sha256((await fetchDocument(actor, id)).bytes));
  } finally {
    await t.stop();
    await other.stop();
  }
});
