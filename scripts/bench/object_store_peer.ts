// The embedded object store in a process of its own, so that the service's memory and time are the service's alone.
import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";

const [dir = "", accessKey = "", secretKey = ""] = Deno.args;
const store = await startEmbeddedObjectStore({ dir, port: 0, accessKey, secretKey, region: "us-east-1" });
console.log(`listening on ${new URL(store.endpoint).port}`);
Deno.addSignalListener("SIGTERM", async () => {
  await store.stop();
  Deno.exit(0);
});
