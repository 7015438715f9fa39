// The gate's tests that declare problems, channels or resources: these are known in the whole process, so other tests
// would see them. They run in the order of their names: the shape of preferences has the channels that are known at its first
// use, so the tests of channels come first.
import { runTestFiles } from "./support/test_files.ts";
import { isDeclaring, testFilesOf } from "./support/tiers.ts";

runTestFiles("gate", testFilesOf("gate").filter(isDeclaring).sort());
