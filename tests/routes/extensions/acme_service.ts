// The service with the extension in `acme`, which two test files share. Import this file before the extension: it reads the
// URL of its billing database when it is imported.
import { join } from "node:path";
import process from "node:process";
import { createTestDatabase } from "../../support/cluster.ts";
import { setupShared, type TestService } from "../../support/setup.ts";

export const billingUrl = await createTestDatabase({ empty: true });
process.env.ACME_BILLING_URL = billingUrl;

export const setupAcme = (): Promise<TestService> =>
  setupShared({
    STEWARD_EXTENSIONS: join(import.meta.dirname ?? ".", "acme/mod.ts"),
    OUTBOUND_ALLOW: "127.0.0.1",
  });
