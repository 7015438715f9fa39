import type { ProviderOutcome, TestedSignIn } from "../../domain/access/sign_in/providers/finish.ts";
import { FLOW_MINUTES, type StartedFlow } from "../../domain/access/sign_in/providers/flow.ts";
import { findTenantProvider } from "../../domain/access/sign_in/providers/provider.ts";
import { DEVICE_DAYS } from "../../domain/access/sign_in/known_devices.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { CATALOGUE, Problem } from "../../domain/problems/problem.ts";
import { isUuid } from "../../domain/shared/ids.ts";
import { HOSTED_POLICY, hostedPage, readHostedLooks } from "../looks/hosted_page.ts";
import { escapeHtml, languageOf } from "../shared/html.ts";
import { type Answer, text } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { readCookie, setCookie } from "../shared/cookies.ts";
import { originOf, signedInAnswer } from "./shapes.ts";

/** The folder of a kind's routes, which its cookies belong to. */
type Folder = "/api/v1/auth/oidc" | "/api/v1/auth/saml";

/** Redirects the browser to the provider. A cookie binds the sign-in to the browser. */
export const startAnswer = (platform: ServicePlatform, folder: Folder, flow: StartedFlow): Answer =>
  redirect(
    302,
    flow.location,
    flowCookie(platform, folder, flow.state, flow.browserSecret, FLOW_MINUTES * 60),
  );

/** The secret and the address of the browser that returns from a provider. */
export function returnedBrowser(platform: ServicePlatform, call: Call, state: string) {
  const read = (name: string) => readCookie(new URL(platform.baseUrl()), call.request.headers, name);
  const browserSecret = read(cookieName(state)) ?? "";
  return { state, browserSecret, traceId: call.traceId, ...originOf(call, read(DEVICE)?.slice(0, 200)) };
}

/** The answer to a browser whose sign-in was refused. */
export const refusedAnswers = {
  400: { description: "Refused; for browsers a page that says what was expected", contentType: "text/html" },
};

/** Answers the end of a sign-in: tokens, a redirect to the page that exchanges the code, or the result of a test. */
export async function finishAnswer(
  platform: ServicePlatform,
  call: Call,
  o: { folder: Folder; provider: string; state: string; outcome: ProviderOutcome },
): Promise<Answer> {
  const { outcome, folder } = o;
  const spent = flowCookie(platform, folder, o.state, "", 0);
  if ("returnTo" in outcome) return redirect(303, outcome.returnTo, spent);
  if ("tested" in outcome) {
    const page = await testPage(platform, call, o.provider, outcome.tested);
    return { ...page, setCookies: [spent] };
  }
  const answer = await signedInAnswer(platform.sql, outcome.signedIn);
  const { deviceToken } = outcome.signedIn.tokens;
  const device = { name: DEVICE, value: deviceToken ?? "", maxAgeSeconds: DEVICE_DAYS * 24 * 60 * 60 };
  return {
    ...answer,
    setCookies: [spent, ...deviceToken ? [callbackCookie(platform, folder, device)] : []],
  };
}

const redirect = (status: 302 | 303, location: string, setCookie: string): Answer => ({
  status,
  headers: { location, "set-cookie": setCookie, "referrer-policy": "no-referrer" },
  body: undefined,
});

/** One cookie for each sign-in, so that several tabs can sign in at the same time. */
const cookieName = (state: string): string => `steward_oidc_${state.replaceAll(/[^\w-]/g, "").slice(0, 16)}`;

/** Cookie with the `deviceToken` of the last sign-in whose callback answered the tokens. */
const DEVICE = "steward_oidc_device";

const flowCookie = (
  platform: ServicePlatform,
  folder: Folder,
  state: string,
  value: string,
  maxAgeSeconds: number,
): string => callbackCookie(platform, folder, { name: cookieName(state), value, maxAgeSeconds });

/** SameSite=Lax, because the callback is a navigation from the provider's site. */
const callbackCookie = (
  platform: Pick<ServicePlatform, "baseUrl">,
  folder: Folder,
  o: { name: string; value: string; maxAgeSeconds: number },
): string => setCookie(new URL(platform.baseUrl()), { ...o, path: folder, sameSite: "Lax" });

const TEXTS = {
  en: {
    refused: "The sign-in was refused",
    again: "Sign in again",
    test: "Test of the sign-in",
    nothingKept: "Nobody was signed in, and nothing was changed.",
    subject: "Subject",
    email: "Email",
    firstName: "First name",
    lastName: "Last name",
    groups: "Groups",
    none: "none",
    notSaid: "not named by the provider",
    works: "A sign-in would succeed.",
    user: "User",
    added: "would be added to the tenant",
    roles: "Roles",
    fails: "A sign-in would be refused.",
  },
  pt: {
    refused: "O login foi recusado",
    again: "Entrar de novo",
    test: "Teste do login",
    nothingKept: "Ninguém entrou e nada foi alterado.",
    subject: "Identificador (subject)",
    email: "E-mail",
    firstName: "Nome",
    lastName: "Sobrenome",
    groups: "Grupos",
    none: "nenhum",
    notSaid: "não informados pelo provedor",
    works: "O login funcionaria.",
    user: "Usuário",
    added: "seria adicionado ao inquilino",
    roles: "Papéis",
    fails: "O login seria recusado.",
  },
};

/**
 * Runs a step of a browser's sign-in. A refusal is answered by a page that says what was expected and found; callers that do not
 * ask for HTML get the problem.
 * @param o.isTest the page also says why the provider's answer was refused
 */
export async function withRefusalPage(
  platform: ServicePlatform,
  call: Call,
  o: { provider: string; isTest?: boolean },
  run: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await run();
  } catch (refusal) {
    const asksForPage = call.request.headers.get("accept")?.includes("text/html");
    if (!asksForPage || !(refusal instanceof Problem)) throw refusal;
    const { traceId, ip } = call;
    const { provider } = o;
    platform.log.info("a sign-in by a provider was refused", { code: refusal.code, provider, traceId, ip });
    return await page(platform, call, provider, {
      status: 400,
      title: (t) => t.refused,
      body: (t, language, signInUrl) =>
        refusalText(refusal, language, o.isTest ?? false) +
        `<p><a href="${escapeHtml(signInUrl)}">${t.again}</a></p>`,
    });
  }
}

const refusalText = (refusal: Problem, language: "en" | "pt", isTest: boolean): string => {
  const { cause } = refusal.extras;
  const reasons = [refusal.message, ...isTest && cause instanceof Error ? [cause.message] : []];
  return `<p>${escapeHtml(CATALOGUE[refusal.code].user[language])}</p>` +
    reasons.map((reason) => `<p lang="en"><code>${escapeHtml(reason)}</code></p>`).join("");
};

const testPage = (
  platform: ServicePlatform,
  call: Call,
  provider: string,
  { identity, user, refusal }: TestedSignIn,
): Promise<Answer> =>
  page(platform, call, provider, {
    status: 200,
    title: (t) => t.test,
    body: (t, language) => {
      const row = (name: string, value: string) =>
        `<tr><th scope="row">${name}</th><td>${escapeHtml(value) || t.none}</td></tr>`;
      const came = identity &&
        row(t.subject, identity.subject) + row(t.email, identity.email ?? "") +
          row(t.firstName, identity.firstName) + row(t.lastName, identity.lastName) +
          row(t.groups, identity.groups ? identity.groups.join(", ") : t.notSaid);
      const given = user &&
        row(t.user, user.isAdded ? `${user.email} (${t.added})` : user.email) +
          row(t.roles, user.roles.join(", "));
      return `<p>${t.nothingKept}</p>${came ? `<table>${came}</table>` : ""}
<h2>${refusal ? t.fails : t.works}</h2>${refusal ? refusalText(refusal, language, true) : ""}
${given ? `<table>${given}</table>` : ""}`;
    },
  });

/** A page in the looks of the provider's tenant, and in the language of the browser. */
async function page(
  platform: ServicePlatform,
  call: Call,
  provider: string,
  o: {
    status: number;
    title: (t: typeof TEXTS.en) => string;
    body: (t: typeof TEXTS.en, language: "en" | "pt", signInUrl: string) => string;
  },
): Promise<Answer> {
  const language = languageOf(call.request.headers.get("accept-language"));
  const t = TEXTS[language];
  const { tenantId = null } = isUuid(provider) ? await findTenantProvider(platform.sql, provider) ?? {} : {};
  const ofTenant = tenantId === null ? "" : `?tenantId=${tenantId}`;
  const signInUrl = `${platform.baseUrl()}/console/sign-in${ofTenant}`;
  const title = o.title(t);
  const body = `<h1>${escapeHtml(title)}</h1>${o.body(t, language, signInUrl)}`;
  const html = hostedPage(await readHostedLooks(platform, tenantId), { title, body, language });
  const headers = {
    "content-security-policy": `${HOSTED_POLICY}; form-action 'none'`,
    "referrer-policy": "no-referrer",
    vary: "accept-language",
  };
  return { ...text(html, "text/html; charset=utf-8", headers), status: o.status };
}
