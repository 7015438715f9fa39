import type { ActedBy } from "../../../rights/caller.ts";
import type { Metadata } from "../metadata.ts";

/** A user of an import. Absent values leave an existing user as it is. */
export interface BulkRow {
  /** Number of the row in the file, from 1. */
  row: number;
  /** Id of the user's tenant, or its name if it is no UUID. */
  tenant: string;
  email?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  phoneNumber?: string | undefined;
  externalId?: string | undefined;
  isActive?: boolean | undefined;
  /** Ids of the roles in the tenant, or names that are no UUIDs; they replace those of an existing link. */
  roles?: string[] | undefined;
  /** For a new user only. */
  passwordHash?: string | undefined;
  metadata?: Metadata | undefined;
}

const ROW_OUTCOMES = ["Created", "Updated", "Unchanged", "Failed"] as const;

/** The outcome of a row. */
export interface RowResult {
  row: number;
  email: string | null;
  outcome: typeof ROW_OUTCOMES[number];
  /** The reasons why the row failed, or warnings about a row that did not. */
  errors: string[];
}

/** In whose name users are imported. */
export interface Importer {
  userId: string;
  /** The tenant of the import and of its audit rows; null: of all tenants. */
  tenantId: string | null;
  apiKeyId: string | null;
  actedBy: ActedBy | null;
  traceId: string;
  /** The address of the request; absent in a job. */
  ip?: string | null;
  /** The importer's permissions in the tenant of the request. */
  permissions: ReadonlySet<string>;
}
