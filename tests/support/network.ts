// A separate host for a process: a network namespace, connected to this one by a virtual cable that can be cut. Creating
// one needs root. It has no route to other networks.
import { succeeds } from "./processes.ts";

export interface FarHost extends AsyncDisposable {
  /** This side's address. */
  hostAddress: string;
  /** The address of the other host. */
  address: string;
  /** Put these before a command to run it on the other host. */
  prefix: string[];
  /** Cuts the cable: every packet in either direction is lost. */
  vanish(): Promise<void>;
}

/** Whether this process may create one; tests that need it are skipped otherwise. */
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
