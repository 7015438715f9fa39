// A host of its own for a process: a network namespace, joined to this one by a cable that can be pulled. Only root may
// make one, and it has no way out.
import { succeeds } from "./processes.ts";

export interface FarHost extends AsyncDisposable {
  /** This side's address. */
  hostAddress: string;
  /** The far side's address. */
  address: string;
  /** Runs a command over there: put before it. */
  prefix: string[];
  /** Every packet in either direction is lost from now on. */
  vanish(): Promise<void>;
}

/** Whether this process may make one; tests that need it are ignored where not. */
export const canMakeHosts = Deno.build.os === "linux" && Deno.uid() === 0 && await mayMake();

let made = 0;

export async function makeFarHost(): Promise<FarHost> {
  const id = `${Deno.pid % 100_000}-${made++}`;
  const [name, near, far] = [`far-${id}`, `n${id}`, `f${id}`];
  const net = `10.${200 + made % 50}.${Deno.pid % 250}`;
  const ip = async (...args: string[]) => {
    if (!await succeeds("ip", ...args)) throw new Error(`ip ${args.join(" ")} failed`);
  };
  await ip("netns", "add", name);
  await ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
  await ip("address", "add", `${net}.1/24`, "dev", near);
  await ip("link", "set", near, "up");
  await ip("-n", name, "address", "add", `${net}.2/24`, "dev", far);
  for (const device of ["lo", far]) await ip("-n", name, "link", "set", device, "up");
  return {
    hostAddress: `${net}.1`,
    address: `${net}.2`,
    prefix: ["ip", "netns", "exec", name],
    vanish: () => ip("-n", name, "link", "set", far, "down"),
    async [Symbol.asyncDispose]() {
      await succeeds("ip", "link", "delete", near);
      await ip("netns", "delete", name);
    },
  };
}

async function mayMake(): Promise<boolean> {
  const name = `far-${Deno.pid}-try`;
  return await succeeds("ip", "netns", "add", name) && await succeeds("ip", "netns", "delete", name);
}
