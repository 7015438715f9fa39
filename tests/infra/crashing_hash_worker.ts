// Stands in for infra/hash_worker.ts: "hashes" a password to its first word. Some words make it crash, fail or wait.
import { parentPort } from "node:worker_threads";
import process from "node:process";
import type { HashTask } from "../../infra/hash_worker.ts";

parentPort?.on("message", (task: HashTask) => {
  const [text = "", file = ""] = (task.do === "hash" ? [task.password] : task.passwords).join().split(" ");
  if (text === "throw") throw new Error("thrown by the thread");
  if (text === "exit-once" && !exists(file)) {
    Deno.writeTextFileSync(file, "");
    process.exit(3);
  }
  while (text === "wait" && !exists(file)) pause();
  parentPort?.postMessage(
    text === "fail" ? { failed: "a reason" } : { done: task.do === "hash" ? text : true },
  );
});

function exists(file: string): boolean {
  try {
    return Deno.statSync(file).isFile;
  } catch {
    return false;
  }
}

/** Blocks the thread for 5 ms. */
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
