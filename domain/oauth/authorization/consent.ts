import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import type { AuthorizationRequest } from "./request.ts";

/** Must the user be asked? Not by a first-party client, and not for scopes that the user allowed before. */
export async function needsConsent(
  q: Sql,
  { client, scopes, prompts }: AuthorizationRequest,
  userId: string,
): Promise<boolean> {
  if (prompts.has("consent")) return true;
  if (client.firstParty) return false;
  const known = await q`select from oauth_consents
    where user_id = ${userId} and client_id = ${client.id} and scopes @> ${scopes}::text[]`;
  return known.length === 0;
}

/** Remembers that a user allows a client these scopes, besides those allowed before. */
export async function rememberConsent(
  tx: Tx,
  o: { userId: string; clientId: string; scopes: string[] },
): Promise<void> {
  await tx`insert into oauth_consents as c (user_id, client_id, scopes)
    values (${o.userId}, ${o.clientId}, ${o.scopes}::text[])
    on conflict (user_id, client_id) do update set updated_at = now(),
      scopes = array(select distinct scope from unnest(c.scopes || excluded.scopes) scope order by scope)`;
}
