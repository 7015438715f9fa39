import { z } from "zod";
import { readProfile } from "../../domain/access/account/profile.ts";
import { defaultTenantOf } from "../../domain/access/sign_in/sessions.ts";
import { type PageOwner, pageOwnerOf } from "../../domain/oauth/authorization/request.ts";
import { readSignOut, type SignOut, signOutBrowser } from "../../domain/oauth/sign_out.ts";
import { OAuthError, readParameters } from "../../domain/oauth/oauth_error.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { cookieWriter, csrfToken } from "../console/shared/cookies.ts";
import type { Answer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import {
  type Browser,
  byQuery,
  carriedFields,
  CSRF,
  DECISION,
  errorPage,
  pageAnswer,
  readBrowser,
  readSentForm,
  seeOther,
} from "./page.tsx";
import { formRefusals, UI_LOCALES_TEXT } from "./protocol.ts";
import { oauthTexts } from "./texts.ts";

const endpoint = endpointsIn("OpenID provider");

interface Looking {
  browser: Browser;
  owner: PageOwner;
}

async function answerRequest(
  platform: ServicePlatform,
  given: URLSearchParams,
  o: { browser: Browser; decision: string | null },
): Promise<Answer> {
  const { browser, decision } = o;
  try {
    const request = await readSignOut(platform, readParameters(given));
    const { session } = browser;
    // Only an ID token of this very session shows that the user's own program asks; anybody can send a link.
    const mustAsk = session !== null && session.sessionId !== request.sessionId;
    const tenantId = session && await defaultTenantOf(platform.sql, session.userId);
    const owner = request.client ? pageOwnerOf(request.client, tenantId) : { tenantId, clientName: null };
    if (mustAsk && decision === null) {
      return await askUser(platform, given, { browser, userId: session.userId, owner });
    }
    if (decision === "stay") return seeOther("/console/");
    await signOutBrowser(platform, request, session);
    return await signedOut(platform, request, { browser, owner });
  } catch (failure) {
    if (!(failure instanceof OAuthError)) throw failure;
    return await errorPage(platform, browser, failure.message);
  }
}

async function signedOut(
  platform: ServicePlatform,
  request: SignOut,
  { browser, owner }: Looking,
): Promise<Answer> {
  const cookies = cookieWriter(new URL(platform.baseUrl())).noSession();
  const t = oauthTexts[browser.locale];
  const answer = request.returnTo === null
    ? await pageAnswer(platform, browser, {
      status: 200,
      owner,
      title: t.signedOut,
      body: (
        <div>
          <h1>{t.signedOut}</h1>
          <p>{t.signedOutText}</p>
          <p>
            <a href="sign-in">{t.signIn}</a>
          </p>
        </div>
      ),
    })
    : seeOther(request.returnTo);
  return { ...answer, setCookies: cookies };
}

async function askUser(
  platform: ServicePlatform,
  given: URLSearchParams,
  { browser, owner, userId }: Looking & { userId: string },
): Promise<Answer> {
  const t = oauthTexts[browser.locale];
  const { value: { user } } = await readProfile(platform.sql, userId, null);
  return await pageAnswer(platform, browser, {
    status: 200,
    owner,
    title: t.signOutTitle,
    formTarget: given.get("post_logout_redirect_uri") ?? "",
    body: (
      <form class="card form" method="post" action="../oauth/logout">
        <h1>{t.signOutTitle}</h1>
        <p>{t.signOutText(user.email)}</p>
        {carriedFields(given, NAMES)}
        <input type="hidden" name={CSRF} value={csrfToken(browser.secret ?? "")} />
        <div class="row end">
          <button type="submit" class="button" name={DECISION} value="stay">{t.stay}</button>
          <button type="submit" class="button primary" name={DECISION} value="leave">{t.signOut}</button>
        </div>
      </form>
    ),
  });
}

const text = z.string().optional();
const parameters = z.object({
  id_token_hint: text,
  client_id: text,
  post_logout_redirect_uri: text,
  state: text,
  ui_locales: text.describe(UI_LOCALES_TEXT),
});
const NAMES = Object.keys(parameters.shape);
const PATH = "/oauth/logout";

const shared = {
  access: anyone,
  answers: {
    200: { description: "Signed out, or asks the user", contentType: "text/html" },
    303: { description: "To `post_logout_redirect_uri`, with `state`" },
    400: { description: "A mistake of the client", contentType: "text/html" },
    ...formRefusals,
  },
} as const;

/** Sign-out by a client (OpenID Connect RP-Initiated Logout 1.0). */
export const logoutRoutes = [
  endpoint(`GET ${PATH}`, {
    ...shared,
    id: "signOutByClient",
    summary: "Sign the browser out, and with it the clients that do not outlive it",
    details: `Query: ${NAMES.map((name) => `\`${name}\``).join(", ")}.`,
    run: async ({ platform, call }) =>
      await answerRequest(platform, call.url.searchParams, {
        browser: await readBrowser(platform, call, call.url.searchParams),
        decision: null,
      }),
  }),
  endpoint(`POST ${PATH}`, {
    ...shared,
    id: "signOutByClientForm",
    summary: "The same with a form, and the user's answer to the question",
    content: { form: parameters },
    async run({ platform, call }) {
      const sent = await readSentForm(platform, call, NAMES);
      if (!sent.isAnswer) return await byQuery(platform, PATH, sent);
      return await answerRequest(platform, sent.given, sent);
    },
  }),
] as const;
