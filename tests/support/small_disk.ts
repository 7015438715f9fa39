// A small disk that can be filled: an in-memory file system (tmpfs) of some megabytes. Mounting it needs root.
import { succeeds } from "./processes.ts";

/** True if this process may mount one; tests that need it are skipped otherwise. */
export const canMountSmallDisk = Deno.build.os === "linux" && Deno.uid() === 0 && await mayMount();

/** @param megabytes size of the disk */
export async function mountSmallDisk(megabytes: number) {
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  if (!await succeeds("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder)) {
    throw new Error(`no file system could be mounted at ${folder}`);
  }
  const filler = `${folder}/filler`;
  return {
    folder,
    /** Fills all free space. */
    async fill() {
      using file = await Deno.open(filler, { create: true, append: true });
      for (let size = 1 << 20; size >= 1;) {
        try {
          await file.write(new Uint8Array(size));
        } catch (error) {
          if (!/os error 28/.test(String(error))) throw error; // no space left on device
          size >>= 1;
        }
      }
    },
    /** Frees the space that `fill` took. */
    clear: () => Deno.remove(filler),
    async unmount() {
      await succeeds("umount", "--lazy", folder);
      await Deno.remove(folder);
    },
  };
}

async function mayMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  const isMounted = await succeeds("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder);
  if (isMounted) await succeeds("umount", folder);
  await Deno.remove(folder);
  return isMounted;
}
