// The deep tier's tests that measure time or memory, one after the other.
import { runTestFiles } from "./support/test_files.ts";
import { isAlone, testFilesOf } from "./support/tiers.ts";

runTestFiles("deep", testFilesOf("deep").filter(isAlone));
