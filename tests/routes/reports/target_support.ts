import { join } from "node:path";
import { startEmbeddedObjectStore } from "../../../infra/embedded/objectstore/server.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { startHook } from "./support.ts";

export const TARGETS = "/api/v1/report-targets";
export const MANAGER = ["manage:webhooks"];

/** A store of somebody else, with its own credentials and bucket, behind a proxy that can refuse connections. */
export async function startOtherStore() {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  const keys = { accessKey: "partner-key", secretKey: "partner-secret-9f2c" };
  const region = "eu-west-3";
  const store = await startEmbeddedObjectStore({ dir: join(folder, "objects"), port: 0, region, ...keys });
  const bucket = "partner-inbox";
  const proxy = await TcpProxy.start({ hostname: "127.0.0.1", port: store.port });
  const { endpoint } = store;
  const place = { endpoint, publicEndpoint: endpoint, region, bucket, pathStyle: true };
  const objects = connectObjectStore({ ...place, ...keys });
  await objects.ensureBucket();
  const target = {
    kind: "s3",
    endpoint: `http://127.0.0.1:${proxy.port}`,
    region,
    bucket,
    prefix: "from/steward",
    accessKeyId: keys.accessKey,
    secretAccessKey: keys.secretKey,
  };
  return {
    objects,
    proxy,
    target,
    async stop() {
      await proxy.refuse();
      await store.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** A Slack-compatible receiver that gives these answers in order, then `ok`. */
export function startSlack(...answers: [status: number, body: string][]) {
  const padded = Array.from({ length: 100 }, (_, n): [number, string] => answers[n] ?? [200, "ok"]);
  const { received, url, stop } = startHook(padded);
  return {
    get texts(): string[] {
      return received.map(({ body }) => JSON.parse(body).text);
    },
    url: url.replace("/hook", "/services/T0/B0/x7secretx7"),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

let count = 0;
export async function createTarget(actor: Actor, target: Record<string, unknown>): Promise<string> {
  return (await accepted(actor.post(TARGETS, { name: `Target ${++count}`, ...target }), 201)).id;
}
