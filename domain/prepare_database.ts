import type { Config } from "../infra/config.ts";
import type { DatabaseClock } from "../infra/postgres/database_clock.ts";
import {
  type ExtensionMigrations,
  migrate,
  pendingMigrations,
  summaryOf,
} from "../infra/postgres/migrate.ts";
import { requireTenantInKeys } from "../infra/postgres/tenant_keys.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";
import { bootstrap, type CatalogAdditions } from "./access/tenants/bootstrap.ts";
import { setIdClock } from "./shared/ids.ts";

/**
 * Starts the database's clock, applies migrations if configured, and updates the catalog. Uses connections of its own:
 * connections opened before a migration do not know its new types.
 * @throws Error if the database cannot be used, migrations are pending and MIGRATE_ON_START is off, or a foreign key of an
 * extension leaves out the tenant.
 */
export async function prepareDatabase(
  config: Config,
  clock: DatabaseClock,
  extensions: { migrations: readonly ExtensionMigrations[]; catalog: CatalogAdditions },
): Promise<void> {
  const url = config.DATABASE_URL ?? "";
  const pooled = !config.DATABASE_LISTEN;
  const migrating = connectPostgres(url, { max: 1, prepare: false, work: "migration", pooled });
  try {
    await clock.start(migrating).catch((cause) => {
      throw new Error(`the database of DATABASE_URL cannot be used: ${cause.message}`, { cause });
    });
    setIdClock(clock);
    if (config.MIGRATE_ON_START) await migrate(migrating, extensions.migrations);
    const pending = await pendingMigrations(migrating, extensions.migrations);
    if (pending.length > 0) {
      throw new Error(`the database lacks ${summaryOf(pending)}; run \`deno task migrate\` before starting`);
    }
    if (!config.MIGRATE_ON_START) await requireTenantInKeys(migrating, extensions.migrations);
  } finally {
    await migrating.end();
  }
  const sql = connectPostgres(url, { max: 1, prepare: false, pooled });
  try {
    await bootstrap({ sql, config }, extensions.catalog);
  } finally {
    await sql.end();
  }
}
