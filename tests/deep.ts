// The deep tier's tests, without those of `deep_alone.ts`. `deno task deep` runs several processes of this module, which share
// the files.
import { runTestFiles } from "./support/test_files.ts";
import { isAlone, testFilesOf } from "./support/tiers.ts";

runTestFiles("deep", testFilesOf("deep").filter((file) => !isAlone(file)));
