import { join } from "node:path";
import { scaled } from "./compare.ts";

const TEST = join(import.meta.dirname ?? ".", "../../tests/routes/contract/large_lists_deep.ts");

/** Time of every list with every filter, order and search, with a million rows a table. Runs the test that derives them. */
export async function lists(): Promise<void> {
  const o = { args: ["test", "-P", "--no-check", TEST], env: { LIST_ROWS: String(scaled(1_000_000)) } };
  const { success } = await new Deno.Command(Deno.execPath(), o).spawn().status;
  if (!success) throw new Error("some lists are slower than their limit");
}
