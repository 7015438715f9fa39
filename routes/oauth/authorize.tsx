import { z } from "zod";
import { readProfile } from "../../domain/access/account/profile.ts";
import type { BrowserSession } from "../../domain/access/sign_in/browser_session.ts";
import { authorize } from "../../domain/oauth/authorization/authorize.ts";
import {
  answerUrl,
  type AuthorizationRequest,
  pageOwnerOf,
  readRequest,
  readTrustedReturn,
  SIGNED_IN_AFTER,
  type TrustedReturn,
} from "../../domain/oauth/authorization/request.ts";
import { listOf, OAuthError, readParameters } from "../../domain/oauth/oauth_error.ts";
import { requireProviderKey } from "../../domain/oauth/clients/client.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { originOf } from "../auth/shapes.ts";
import { PROVIDER_PAGE } from "../console/shared/request_security.ts";
import { csrfToken } from "../console/shared/cookies.ts";
import type { Answer } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
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

/** Prompts that a new sign-in fulfils. */
const FULFILLED_BY_SIGN_IN = ["login", "select_account"];

/** Answers an authorization request, given by query or form. */
async function answerRequest(
  platform: ServicePlatform,
  call: Call,
  given: URLSearchParams,
  o: { browser: Browser; consent: "allowed" | "denied" | null },
): Promise<Answer> {
  requireProviderKey(platform);
  const { browser, consent } = o;
  let trusted: TrustedReturn | undefined;
  const issuer = platform.baseUrl();
  try {
    const parameters = readParameters(given);
    trusted = await readTrustedReturn(platform, parameters);
    const request = readRequest(trusted, parameters);
    if (consent === "denied") throw new OAuthError("access_denied", "The user did not allow it.");
    const decision = await authorize(platform, request, browser.session, { ...originOf(call), consent });
    if (decision.next === "sign in") return toSignIn(platform, request, given);
    if (decision.next === "add factor") return toEnrolling(given);
    if (decision.next === "ask consent" && browser.session && browser.secret) {
      return await askUser(platform, request, given, { browser, session: browser.session, ...decision });
    }
    if (decision.next !== "return") throw new Error("an authorization without a session was not refused");
    platform.log.info("signed in", {
      operation: "authorize",
      userId: browser.session?.userId,
      clientId: request.client.clientId,
      ip: call.ip,
      traceId: call.traceId,
    });
    return seeOther(answerUrl(trusted, issuer, { code: decision.code }));
  } catch (failure) {
    if (!(failure instanceof OAuthError)) throw failure;
    if (!trusted) return await errorPage(platform, browser, failure.message);
    const { error, message } = failure;
    return seeOther(answerUrl(trusted, issuer, { error, error_description: message }));
  }
}

/** To the console's sign-in page, and back with the same request. */
function toSignIn(
  { clock }: ServicePlatform,
  { prompts, loginHint, maxAgeSeconds, idTokenHint }: AuthorizationRequest,
  given: URLSearchParams,
): Answer {
  const back = new URLSearchParams(given);
  const left = [...prompts].filter((prompt) => !FULFILLED_BY_SIGN_IN.includes(prompt));
  back.delete("prompt");
  if (left.length > 0) back.set("prompt", left.join(" "));
  const isNewNeeded = left.length < prompts.size || maxAgeSeconds !== null || idTokenHint !== null;
  if (isNewNeeded) back.set(SIGNED_IN_AFTER, String(clock.now().getTime()));
  const query = new URLSearchParams({
    to: PROVIDER_PAGE + back,
    ...loginHint === null ? {} : { email: loginHint },
  });
  return seeOther(`/console/sign-in?${query}`);
}

/** To the console's page about second factors, which leads back with the same request. */
const toEnrolling = (given: URLSearchParams): Answer =>
  seeOther(`/console/account/security?${new URLSearchParams({ to: PROVIDER_PAGE + given })}`);

/** Asks the user whether the client may have its scopes. */
async function askUser(
  platform: ServicePlatform,
  { client, scopes, redirectUri }: AuthorizationRequest,
  given: URLSearchParams,
  o: { browser: Browser; session: BrowserSession; tenantId: string | null },
): Promise<Answer> {
  const { browser, session, tenantId } = o;
  const t = oauthTexts[browser.locale];
  const { value: { user, tenant } } = await readProfile(platform.sql, session.userId, tenantId);
  const other = new URLSearchParams(given);
  other.set("prompt", [...listOf(given.get("prompt") ?? ""), "login"].join(" "));
  return await pageAnswer(platform, browser, {
    status: 200,
    title: t.allowTitle(client.name),
    formTarget: redirectUri,
    owner: pageOwnerOf(client, tenantId),
    body: (
      <>
        <div>
          <h1>{t.allowTitle(client.name)}</h1>
          <p class="muted">{t.you(user.email, tenant?.name ?? null)}</p>
        </div>
        <form class="card form" method="post" action="../oauth/authorize">
          <p>{t.allowText(client.name)}</p>
          <ul>{scopes.map((scope) => <li>{t.scopes[scope] ?? t.ownScope(scope)}</li>)}</ul>
          <p class="muted">{t.leaves(URL.parse(redirectUri)?.host || redirectUri)}</p>
          {carriedFields(given, CARRIED)}
          <input type="hidden" name={CSRF} value={csrfToken(browser.secret ?? "")} />
          <div class="row end">
            <button type="submit" class="button" name={DECISION} value="denied">{t.deny}</button>
            <button type="submit" class="button primary" name={DECISION} value="allowed">{t.allow}</button>
          </div>
        </form>
        <p>
          <a href={`../oauth/authorize?${other}`}>{t.otherUser}</a>
        </p>
      </>
    ),
  });
}

const text = z.string().optional();
const parameters = {
  response_type: text.describe("`code`"),
  client_id: text,
  redirect_uri: text,
  scope: text,
  state: text,
  nonce: text,
  code_challenge: text,
  code_challenge_method: text.describe("`S256`"),
  prompt: text,
  max_age: text,
  login_hint: text,
  id_token_hint: text,
  tenant: text.describe("Id of the tenant to sign in to; absent: as at a sign-in to the service"),
  resource: text.describe("The audience of the client; no other is possible (RFC 8707)"),
  response_mode: text.describe("`query`"),
  ui_locales: text.describe(UI_LOCALES_TEXT),
};
/** The parameters with which a request continues: its own, those that are refused, and the service's own. */
const CARRIED = [...Object.keys(parameters), "request", "request_uri", SIGNED_IN_AFTER];
const PATH = "/oauth/authorize";

const shared = {
  access: anyone,
  answers: {
    200: { description: "Asks the user for consent", contentType: "text/html" },
    303: {
      description: "To the sign-in page, or back to the client with `code` or `error`, `state` and `iss`",
    },
    400: { description: "A mistake that cannot be sent to the client", contentType: "text/html" },
    ...formRefusals,
  },
} as const;

/** The authorization endpoint: where clients send browsers to sign in. */
export const authorizeRoutes = [
  endpoint(`GET ${PATH}`, {
    ...shared,
    problems: ["OPENID_KEY_MISSING_UNAVAILABLE"],
    id: "authorizeClient",
    summary: "Sign in to a client with a browser (OpenID Connect, code flow with PKCE)",
    details: `Query: ${Object.keys(parameters).map((name) => `\`${name}\``).join(", ")}.`,
    run: async ({ platform, call }) =>
      await answerRequest(platform, call, call.url.searchParams, {
        browser: await readBrowser(platform, call, call.url.searchParams),
        consent: null,
      }),
  }),
  endpoint(`POST ${PATH}`, {
    ...shared,
    problems: ["OPENID_KEY_MISSING_UNAVAILABLE"],
    id: "authorizeClientByForm",
    summary: "The same with a form, and the user's answer to the question",
    content: { form: z.object(parameters) },
    async run({ platform, call }) {
      const sent = await readSentForm(platform, call, CARRIED);
      const { given, isAnswer, browser, decision } = sent;
      if (!isAnswer || decision !== "allowed" && decision !== "denied") {
        return await byQuery(platform, PATH, sent); // it asks, or asks again
      }
      return await answerRequest(platform, call, given, { browser, consent: decision });
    },
  }),
] as const;
