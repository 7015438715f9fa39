import type { ObjectStoreConfig } from "../../../infra/objectstore/address.ts";
import { connectObjectStore, type ObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { canRunSwift, startSwift } from "../../support/swift.ts";
import { configOf, startTestStore } from "./support.ts";

/** A server with an empty bucket, and a client of it. */
interface Server {
  name: "embedded" | "Swift";
  config: ObjectStoreConfig;
  store: ObjectStore;
}

type DeclareTest = (sentence: string, run: (server: Server) => Promise<void>) => void;
type Start = () => Promise<{ config: ObjectStoreConfig; stop(): Promise<void> }>;

const startEmbedded: Start = async () => {
  const test = await startTestStore();
  return { config: configOf(test.server.endpoint), stop: () => test.stop() };
};

const startWithSwift: Start = async () => {
  const swift = await startSwift();
  return { config: await swift.bucket(), stop: () => swift.stop() };
};

/** @returns a function that declares a test which runs against the embedded store and against OpenStack Swift */
export function onEachServer(): DeclareTest {
  const tests = [testsOn("embedded", startEmbedded), testsOn("Swift", startWithSwift, !canRunSwift)];
  return (sentence, run) => tests.forEach((test) => test(sentence, run));
}

function testsOn(name: Server["name"], start: Start, ignore = false): DeclareTest {
  let started: Promise<Server & { stop(): Promise<void> }> | undefined;
  const begin = async () => {
    const { config, stop } = await start();
    const store = connectObjectStore(config);
    await store.ensureBucket();
    return { name, config, store, stop };
  };
  Deno.test.afterAll(async () => await (await started)?.stop());
  return (sentence, run) =>
    Deno.test({
      name: `${name}${ignore ? " (ignored: not installed)" : ""}: ${sentence}`,
      ignore,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => await run(await (started ??= begin())),
    });
}
