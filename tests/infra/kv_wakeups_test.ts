import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../infra/clock.ts";
import { kvWakeUps } from "../../infra/wakeups/kv_wakeups.ts";
import { createLog } from "../../infra/log.ts";

Deno.test("if the Deno KV queue cannot be read, timers replace it", async () => {
  const { listenQueue } = Deno.Kv.prototype;
  Deno.Kv.prototype.listenQueue = () => Promise.reject(new Error("no queues here"));
  const woken = Promise.withResolvers<void>();
  try {
    const wakeUps = await kvWakeUps({
      path: ":memory:",
      wake: () => Promise.resolve(woken.resolve()),
      log: createLog("error"),
      clock: systemClock,
    });
    await Promise.resolve(); // the queue has reported that it is not available
    wakeUps.set(new Date(Date.now() + 50));
    await woken.promise;
    await wakeUps.stop();
  } finally {
    Deno.Kv.prototype.listenQueue = listenQueue;
  }
});

Deno.test("messages of Deno KV survive a restart, and undelivered ones are handled by the sweep", async () => {
  const path = join(await Deno.makeTempDir({ prefix: "steward-test-" }), "kv");
  const wakeUpsThat = (wake: () => Promise<void>) =>
    kvWakeUps({ path, wake, log: createLog("off"), clock: systemClock });
  const first = await wakeUpsThat(() => Promise.resolve());
  first.set(new Date(Date.now() + 300));
  await first.stop();

  const kv = await Deno.openKv(path);
  await kv.set(["steward", "undelivered", 1], { steward: "wake-up", at: 1 });
  kv.close();
  const woken = Promise.withResolvers<void>();
  let isDatabaseDown = true;
  const second = await wakeUpsThat(() =>
    isDatabaseDown ? Promise.reject(new Error("unreachable")) : Promise.resolve(woken.resolve())
  );
  await assert.rejects(second.sweep(), /unreachable/);
  isDatabaseDown = false;
  await woken.promise; // the message that was set before the restart, however often its delivery failed
  let swept = 0;
  const third = await wakeUpsThat(() => Promise.resolve(void swept++));
  await third.sweep();
  await third.sweep();
  assert.equal(swept, 1);
  await Promise.all([second.stop(), third.stop()]);
});
