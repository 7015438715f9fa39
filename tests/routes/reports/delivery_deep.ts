// A bucket that gets a large document in several parts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { atEnd } from "../../support/at_end.ts";
import { delivered, fetchDocument, generateLater, setupSharedReports, STORAGE } from "./support.ts";
import { createTarget, MANAGER, startOtherStore } from "./target_support.ts";

Deno.test("a document of several parts is streamed into the bucket of somebody else", async () => {
  const other = await startOtherStore();
  await using _ = atEnd(() => other.stop());
  await using t = await setupSharedReports();
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
});
