import { join } from "node:path";

const FOLDER = join(import.meta.dirname ?? ".", "..", "..", "routes", "extensions");
/** The committed description of the public interface. */
export const PUBLIC_INTERFACE = join(FOLDER, "public_interface.txt");

/** The exported signatures of the public interface with their comments, as text. zod's own are left out. */
export async function describePublicInterface(): Promise<string> {
  const source = await Deno.readTextFile(join(FOLDER, "public.ts"));
  const copy = join(FOLDER, `.described_${crypto.randomUUID()}.ts`);
  await Deno.writeTextFile(copy, source.replace('export { z } from "zod";', ""));
  try {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["doc", copy],
      env: { NO_COLOR: "1" },
    }).output();
    if (!success) throw new Error(`deno doc failed: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout).replaceAll(/^Defined in .*\n\n/gm, "").trim() + "\n";
  } finally {
    await Deno.remove(copy);
  }
}
