import { canRunSwift, startSwift } from "../../support/swift.ts";
import { describeClient } from "./client_cases.ts";

if (canRunSwift) {
  const swift = await startSwift();
  Deno.test.afterAll(() => swift.stop());
  await describeClient("Swift", await swift.bucket());
} else {
  Deno.test({ name: "Swift: the client (ignored: not installed)", ignore: true, fn() {} });
}
