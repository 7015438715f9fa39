import { kvAlarm } from "../../infra/bell/kv_alarm.ts";
import { createLog } from "../../infra/log.ts";

Deno.test("where the queue of Deno KV cannot be heard, timers ring", async () => {
  const { listenQueue } = Deno.Kv.prototype;
  Deno.Kv.prototype.listenQueue = () => Promise.reject(new Error("no queues here"));
  const rung = Promise.withResolvers<void>();
  try {
    const alarm = await kvAlarm({ path: ":memory:", rung: rung.resolve, log: createLog("error") });
    await Promise.resolve(); // the queue has said that it is not to be had
    alarm.set(new Date(Date.now() + 50));
    await rung.promise;
    await alarm.stop();
  } finally {
    Deno.Kv.prototype.listenQueue = listenQueue;
  }
});
