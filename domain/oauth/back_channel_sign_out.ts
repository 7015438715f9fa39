import { z } from "zod";
import { createHttpOut } from "../../infra/http_out/http_out.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { SIGN_OUT_JOB } from "../access/access_changes.ts";
import { givesAccess } from "../access/sign_in/client_session.ts";
import { isAcceptedIn } from "../rights/tenant_sign_in.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { OAuthPlatform } from "./platform.ts";

const TOKEN_SECONDS = 2 * 60;
const ANSWER_MS = 10_000;
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** A sign-in to a client that has ended, of which the client does not know yet. */
interface EndedSignIn {
  grantId: string;
  userId: string;
  /** The claim `sid` of the client's ID tokens. */
  browserSessionId: string;
  clientId: string;
  uri: string;
}

/**
 * Sends a logout token to each client whose users' sign-ins have ended (OpenID Connect Back-Channel Logout 1.0). A client
 * that does not accept one gets it and its further ones at the retry; the others do not wait for it.
 */
export const signOutClientsJob = defineJob({
  ...SIGN_OUT_JOB,
  args: z.object({ userIds: z.array(z.guid()) }),
  places: 1 / 8,
  share: 1 / 2, // a slow client leaves places for other jobs
  async run({ userIds }, { platform, db, signal }: JobContext<OAuthPlatform>) {
    const byClient = Map.groupBy(await readEndedSignIns(db, userIds), ({ clientId }) => clientId);
    const told = [...byClient.values()].map((ended) => tellClient(platform, db, ended, signal));
    const failures = (await Promise.all(told)).filter((failure) => failure !== null);
    signal.throwIfAborted();
    if (failures.length > 0) throw new Error(`Clients were not told of a sign-out: ${failures.join("; ")}`);
  },
});

/** Sends a client the tokens of its ended sign-ins, one after the other. @returns why it stopped; null if it did not */
async function tellClient(
  p: Pick<OAuthPlatform, "tokens" | "config">,
  q: Sql,
  ended: EndedSignIn[],
  signal: AbortSignal,
): Promise<string | null> {
  const http = createHttpOut({ allow: p.config.OUTBOUND_ALLOW, wholeMs: ANSWER_MS, followsRedirects: false });
  for (const { grantId, userId, browserSessionId, clientId, uri } of ended) {
    const token = await p.tokens.issue({
      typ: "logout+jwt",
      algorithm: "RS256",
      audience: clientId,
      subject: userId,
      lifeSeconds: TOKEN_SECONDS,
      claims: { sid: browserSessionId, events: { [EVENT]: {} } },
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = String(new URLSearchParams({ logout_token: token }));
    const failure = await http.send({ url: uri, method: "POST", headers, body, signal }).then(
      ({ status }) => status >= 200 && status < 300 ? null : `answered ${status}`,
      (error: Error) => error.message,
    );
    if (failure !== null) return `${clientId}: ${failure}`;
    await q`update oauth_grants set sign_out_told_at = now() where session_id = ${grantId}`;
  }
  return null;
}

/** Sign-ins that ended otherwise than by their age, and those whose browser signed out. */
const readEndedSignIns = (q: Sql, userIds: string[]) =>
  q<EndedSignIn[]>`
    select g.session_id as grant_id, g.user_id, g.browser_session_id, c.client_id, c.backchannel_logout_uri as uri
    from oauth_grants g join oauth_clients c on c.id = g.client_id
    join sessions s on s.id = g.session_id join users u on u.id = g.user_id
    left join sessions browser on browser.id = g.browser_session_id
    where g.user_id = any(${userIds}::uuid[]) and g.code_used_at is not null and g.sign_out_told_at is null
      and c.backchannel_logout_uri is not null and c.revoked_at is null
      and (s.expires_at > now() and not (${givesAccess(q)} and ${isAcceptedIn(q, q`s`, q`g.tenant_id`)})
        or browser.revoked_at is not null)`;
