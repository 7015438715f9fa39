import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import { newSigningSecret } from "../shared/secrets.ts";

/** Hours for which a replaced secret also signs. */
export const OLD_SECRET_HOURS = 24;

/** Creates the endpoint's first secret, or replaces the current one; returns it. The caller must lock the endpoint. */
export async function issueSecret(tx: Tx, endpointId: string): Promise<string> {
  const secret = newSigningSecret();
  await tx`update webhook_secrets set valid_until = clock_timestamp() + make_interval(hours => ${OLD_SECRET_HOURS})
    where endpoint_id = ${endpointId} and valid_until is null`;
  await tx`insert into webhook_secrets (endpoint_id, secret) values (${endpointId}, ${secret})`;
  return secret;
}

/** The secrets that sign an endpoint's deliveries now, the current one first. */
export async function readSecrets(q: Sql, endpointId: string): Promise<string[]> {
  const rows = await q<{ secret: string }[]>`
    select secret from webhook_secrets
    where endpoint_id = ${endpointId} and (valid_until is null or valid_until > now())
    order by valid_until desc nulls first`;
  return rows.map(({ secret }) => secret);
}
