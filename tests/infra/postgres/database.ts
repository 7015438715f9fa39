import { createTestDatabase } from "../../support/cluster.ts";

/** A database that the test files of this folder share. */
export const databaseUrl = await createTestDatabase();
