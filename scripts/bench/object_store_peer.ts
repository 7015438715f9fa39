// The embedded object store in a separate process, so that it does not add to the measured memory and time of the service.
import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";

const [dir = "", accessKey = "", secretKey = ""] = Deno.args;
const store = await startEmbeddedObjectStore({ dir, port: 0, accessKey, secretKey, region: "us-east-1" });
console.log(`listening on ${new URL(store.endpoint).port}`);
Deno.addSignalListener("SIGTERM", async () => {
  await store.stop();
  Deno.exit(0);
});
