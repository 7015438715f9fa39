// The billing database of the extension in `acme`, which reads its URL when it is imported. Import this file first.
import process from "node:process";
import { createTestDatabase } from "../../support/cluster.ts";

export const billingUrl = await createTestDatabase({ empty: true });
process.env.ACME_BILLING_URL = billingUrl;
