import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { type Amr, openSession } from "../../../domain/access/sign_in/sessions.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { cookieWriter } from "../../../routes/console/shared/cookies.ts";
import type { TestService } from "../../support/setup.ts";
import { FormBrowser } from "../oauth/browser.ts";
import { withToken } from "./people.ts";

/** An enabled provider of a tenant, which has signed somebody in. */
export async function providerOf(
  t: TestService,
  tenantId: string,
): Promise<{ id: string; tenantId: string }> {
  const id = newId();
  await t.steward.platform.sql`
    insert into sign_in_providers (id, tenant_id, kind, name, is_enabled, connection, last_sign_in_at)
    values (${id}, ${tenantId}, 'Oidc', 'Corp', true, '{}', now())`;
  return { id, tenantId };
}

/** A session of a tenant's provider, as the end of its sign-in opens it. */
export async function boundSession(
  t: TestService,
  userId: string,
  provider: { id: string; tenantId: string },
  amr: Amr[] = ["fed", "mfa"],
) {
  const { platform } = t.steward;
  const { tenantId } = provider;
  const origin = { ip: null, userAgent: null };
  const tokens = await transact(
    platform.sql,
    (tx) => openSession(platform, tx, { user: { id: userId }, tenantId, amr, provider, ...origin }),
  );
  return { tokens, me: withToken(t, tokens.accessToken) };
}

/** A browser with the cookies of a session. */
export async function browserWith(t: TestService, accessToken: string): Promise<FormBrowser> {
  const secret = await openBrowserSession(t.steward.platform, accessToken);
  return new FormBrowser(t.url).with(t.url, cookieWriter(new URL(t.url)).session(secret));
}
