// Explains an access decision: `deno task access --user EMAIL --permission CODE [--tenant NAME]`.
import { type AccessExplanation, explainAccess } from "../domain/access/permissions/explain_access.ts";
import type { Sql } from "../infra/postgres/postgres.ts";
import { EXIT, Failure, requireNoArguments, runScript, withDatabase } from "./shared/run_script.ts";
import { UUID } from "./shared/option_values.ts";

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

async function findUser(sql: Sql, named: string): Promise<string> {
  const isNamed = UUID.test(named) ? sql`id = ${named}` : sql`mail_key(email) = mail_key(${named})`;
  const [row] = await sql<{ id: string }[]>`select id from users
    where deleted_at is null and ${isNamed}`;
  if (!row) throw new Failure(EXIT.noInput, `there is no user ${named}`);
  return row.id;
}

async function findTenant(sql: Sql, named: string): Promise<string> {
  const isNamed = UUID.test(named) ? sql`id = ${named}` : sql`same_text(name) = same_text(${named})`;
  const [row] = await sql<{ id: string }[]>`select id from tenants
    where deleted_at is null and ${isNamed}`;
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

await runScript({
  help: HELP,
  options: {
    user: { type: "string" },
    permission: { type: "string" },
    tenant: { type: "string" },
    json: { type: "boolean", default: false },
  },
  async run({ user, permission, tenant, json }, positionals) {
    requireNoArguments(positionals);
    if (!user || !permission) throw new Failure(EXIT.usage, "--user and --permission are required");
    return await withDatabase("access", async (sql) => {
      const explanation = await explainAccess(sql, {
        userId: await findUser(sql, user),
        permission,
        tenantId: tenant === undefined ? null : await findTenant(sql, tenant),
      });
      if (json) console.log(JSON.stringify(explanation, null, 2));
      else print(explanation);
      return explanation.isAllowed ? 0 : EXIT.refused;
    });
  },
});
