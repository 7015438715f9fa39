// Explains an access decision: `deno task access --user EMAIL --permission CODE [--tenant NAME]`.
import { parseArgs } from "node:util";
import { type AccessExplanation, explainAccess } from "../domain/access/permissions/explain_access.ts";
import type { Sql } from "../infra/postgres/postgres.ts";
import { EXIT, Failure, runScript, UUID, withDatabase } from "./shared/run_script.ts";

const HELP =
  `Usage: DATABASE_URL=postgres://... deno task access --user EMAIL|ID --permission CODE [--tenant NAME|ID] [--json]

Shows whether a user has a permission, and why: each condition, and the roles that grant it.
  --user EMAIL|ID      the user
  --permission CODE    the permission, such as read:users
  --tenant NAME|ID     the tenant; absent: for a token without a tenant
  --json               print the whole explanation as JSON
  -h, --help           this text

Example: deno task access --user ada@example.com --permission read:users --tenant Acme

Exit code 0 when the user has the permission, 1 when not, 64 for wrong usage, 66 for an unknown user or tenant, 69 when
the database is not usable.`;

interface Options {
  user: string;
  permission: string;
  tenant: string | null;
  json: boolean;
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        user: { type: "string" },
        permission: { type: "string" },
        tenant: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return null;
    const { user, permission } = values;
    if (!user || !permission) throw new Error("--user and --permission are required");
    return { user, permission, tenant: values.tenant ?? null, json: values.json };
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}

async function findUser(sql: Sql, named: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select id from users
    where deleted_at is null and ${
    UUID.test(named) ? sql`id = ${named}` : sql`lower(email) = lower(${named})`
  }`;
  if (!row) throw new Failure(EXIT.noInput, `there is no user ${named}`);
  return row.id;
}

async function findTenant(sql: Sql, named: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select id from tenants
    where deleted_at is null and ${
    UUID.test(named) ? sql`id = ${named}` : sql`lower(name) = lower(${named})`
  }`;
  if (!row) throw new Failure(EXIT.noInput, `there is no tenant ${named}`);
  return row.id;
}

function print({ summary, checks, grants }: AccessExplanation): void {
  console.log(summary);
  for (const check of checks) console.log(`  ${check.passed ? "yes" : "NO "}  ${check.detail}`);
  for (const grant of grants) {
    console.log(`  from ${grant.permission} of role ${grant.roleName} in ${grant.tenantName}`);
  }
}

async function main(): Promise<number> {
  const options = readOptions(Deno.args);
  if (!options) {
    console.log(HELP);
    return 0;
  }
  return await withDatabase("access", async (sql) => {
    const explanation = await explainAccess(sql, {
      userId: await findUser(sql, options.user),
      permission: options.permission,
      tenantId: options.tenant === null ? null : await findTenant(sql, options.tenant),
    });
    if (options.json) console.log(JSON.stringify(explanation, null, 2));
    else print(explanation);
    return explanation.isAllowed ? 0 : EXIT.refused;
  });
}

if (import.meta.main) await runScript(HELP, main);
