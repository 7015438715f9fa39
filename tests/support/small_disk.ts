// A disk that is soon full: a file system of some megabytes in memory, which only root may mount.

/** Whether this process may mount one; tests that need it are ignored where not. */
export const canMountSmallDisk = Deno.build.os === "linux" && Deno.uid() === 0 && await mayMount();

export interface SmallDisk {
  folder: string;
  /** Takes all the room that is left. */
  fill(): Promise<void>;
  /** Gives back what `fill` took. */
  clear(): Promise<void>;
  unmount(): Promise<void>;
}

/** @param megabytes its size */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  if (!await run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder)) {
    throw new Error(`no file system could be mounted at ${folder}`);
  }
  const filler = `${folder}/filler`;
  return {
    folder,
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
    clear: () => Deno.remove(filler),
    async unmount() {
      await run("umount", "--lazy", folder);
      await Deno.remove(folder);
    },
  };
}

async function mayMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  const isMounted = await run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder);
  if (isMounted) await run("umount", folder);
  await Deno.remove(folder);
  return isMounted;
}

async function run(command: string, ...args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
