// The gate's tests, without those of `gate_declaring.ts`. `deno test -P` runs both; `deno task test` runs several processes
// of this module, which share the files.
import { runTestFiles } from "./support/test_files.ts";
import { isDeclaring, testFilesOf } from "./support/tiers.ts";

runTestFiles("gate", testFilesOf("gate").filter((file) => !isDeclaring(file)));
