// The gate's tests that declare problems, channels or resources: these are known in the whole process, so other tests
// would see them.
import { runTestFiles } from "./support/test_files.ts";
import { isDeclaring, testFilesOf } from "./support/tiers.ts";

runTestFiles("gate", testFilesOf("gate").filter(isDeclaring));
