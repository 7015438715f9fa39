// The baseline of the HTTP benchmarks: a bare Deno.serve handler that runs the same SQL and returns the rows as JSON,
// without tokens, permissions, validation, traces or problem documents. Two connections with pipelined queries were its
// fastest setting.
import { readTenantUser } from "../../domain/access/users/user_details.ts";
import { listAllUsers, listTenantUsers, type UserListRequest } from "../../domain/access/users/user_list.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";

const [databaseUrl = "", tenantId = ""] = Deno.args;
const sql = connectPostgres(databaseUrl, { max: 2 });

async function answer(url: URL): Promise<unknown> {
  const userId = url.searchParams.get("id");
  if (userId !== null) return (await readTenantUser(sql, userId, tenantId)).value;
  const request: UserListRequest = JSON.parse(url.searchParams.get("request") ?? "{}");
  return url.pathname === "/tenant-users"
    ? await listTenantUsers(sql, tenantId, request)
    : await listAllUsers(sql, request);
}

const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
  const body = await answer(new URL(request.url));
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
});
console.log(`listening on ${server.addr.port}`);
Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
