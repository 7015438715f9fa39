// The gate's tests, without those of `gate_declaring.ts`. `deno test -P` runs both; `deno task test` runs several processes
// of this module, which share the files.
import { runTestFiles } from "./support/test_files.ts";
import { filesFrom, isDeclaring, testFilesOf } from "./support/tiers.ts";

const files = testFilesOf("gate").filter((file) => !isDeclaring(file));
const [part = 0, parts = 1] = (Deno.env.get("STEWARD_TEST_PART") ?? "0/1").split("/").map(Number);
runTestFiles("gate", filesFrom(part, parts, files));
