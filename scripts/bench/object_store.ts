// The embedded object store as a process of its own, as a bucket is where the service runs for others.
import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";

const [dir = ""] = Deno.args;
const store = await startEmbeddedObjectStore({
  ...{ dir, port: 0, region: "us-east-1" },
  ...{ accessKey: "bench", secretKey: "bench-secret" },
});
console.log(`listening on ${store.port}`);
Deno.addSignalListener("SIGTERM", () => store.stop().then(() => Deno.exit(0)));
