import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const MAX_GROWTH_MIB = 96; // less than half of the object; measured: 36 to 51, and not more with an object five times as large

Deno.test("200 MiB are uploaded whole and in parts, copied and downloaded with constant memory on both sides", async () => {
  const child = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", fileURLToPath(import.meta.resolve("./memory_child.ts"))],
    cwd: fileURLToPath(import.meta.resolve("../../../")),
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(child.success, text(child.stderr));
  const { objectMib, joinedMib, growthMib } = JSON.parse(text(child.stdout));
  assert.deepEqual([objectMib, joinedMib], [200, 200]);
  assert.ok(
    growthMib < MAX_GROWTH_MIB,
    `memory grew by ${growthMib} MiB, expected less than ${MAX_GROWTH_MIB}`,
  );
});
