// "@steward/steward/testing": what the tests of a product, and those of an extension, import.
export { type Drained, type JobState, type SentMessage, startSteward, type TestSteward } from "./steward.ts";
export type { NewTenant, NewUser, TestUser } from "./people.ts";
export * from "../../tests/support/extension_testing.ts";
