// The deep tier's tests. `deno task deep` runs several processes of this module, which share the files.
import { runTestFiles } from "./support/test_files.ts";

runTestFiles("deep", () => true);
