import assert from "node:assert/strict";
import { describePublicInterface, PUBLIC_INTERFACE } from "../../../scripts/shared/public_interface.ts";

Deno.test("the committed description of the public interface matches its exports", async () => {
  assert.equal(
    await describePublicInterface(),
    await Deno.readTextFile(PUBLIC_INTERFACE),
    'extensions import from "@steward/steward": run `deno task public-interface` and review whether they still work',
  );
});
