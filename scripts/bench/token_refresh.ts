import { digest } from "../../domain/shared/secrets.ts";
import { newId } from "../../domain/shared/ids.ts";
import { newRefreshToken } from "../../domain/oauth/tokens/refresh.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { measure } from "./compare.ts";
import { populate, signInAdministrator } from "./sample_users.ts";

const SECONDS = 5;
const CONNECTIONS = 32;

/** Refreshes at the token endpoint, each grant in turn with its newest token. */
export async function tokenRefresh(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const { sql } = setup;
  const { tenantId, userId } = await populate(sql, { users: 1_000, tenants: 10 });
  const headers = await signInAdministrator(port);
  const made = await fetch(`http://127.0.0.1:${port}/api/v1/oauth-clients`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({
      name: "Bench",
      kind: "confidential",
      redirectUris: ["https://bench.test/"],
      audience: "https://bench.test",
    }),
  });
  const { id: clientId, clientId: name, secret } = await made.json();
  const tokens = await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    const sessionId = newId();
    const token = newRefreshToken(sessionId);
    await sql`insert into sessions (id, user_id, security_version, expires_at, client_id)
      select ${sessionId}, id, security_version, now() + interval '14 days', ${clientId} from users where id = ${userId}`;
    await sql`insert into oauth_grants (session_id, client_id, user_id, tenant_id, scopes, browser_session_id, code_hash,
        code_expires_at, code_used_at, redirect_uri, code_challenge, family_hash, refresh_hash, refresh_expires_at)
      values (${sessionId}, ${clientId}, ${userId}, ${tenantId}, '{openid}', ${sessionId}, ${
      digest(sessionId)
    },
        now(), now(), 'https://bench.test/', 'x', ${token.familyHash}, ${token.hash}, now() + interval '14 days')`;
    return token.text;
  }));
  await measure({
    name: `refreshes with ${CONNECTIONS} connections`,
    unit: "/s",
    run: async () => {
      let count = 0;
      const end = performance.now() + SECONDS * 1000;
      await Promise.all(tokens.map(async (_, index) => {
        while (performance.now() < end) {
          const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
            method: "POST",
            body: new URLSearchParams({
              grant_type: "refresh_token",
              client_id: name,
              client_secret: secret,
              refresh_token: tokens[index] ?? "",
            }),
          });
          const { refresh_token: next } = await answer.json();
          if (!next) throw new Error(`a refresh was refused: ${answer.status}`);
          tokens[index] = next;
          count++;
        }
      }));
      return count / SECONDS;
    },
    min: 1_000,
  });
}
