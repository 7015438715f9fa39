import { type Context, Hono } from "hono";
import type { ListPages } from "../../domain/console/platform.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { TtlCache } from "../../domain/shared/ttl_cache.ts";
import type { Handle, Mount } from "../app.ts";
import { endpointsOf } from "../areas.ts";
import { unservedPermissions } from "../endpoints.ts";
import { addMissing } from "../shared/answer.ts";
import { accountPages } from "./account/account.tsx";
import { SignInRequest } from "./account/sign_in.tsx";
import type { ConsolePages } from "./lists/console_pages.ts";
import { listPagesOf } from "./lists/list_pages.ts";
import { listPages } from "./lists/mod.ts";
import { sectionsOf } from "./sections.ts";
import { Answers } from "./layout/answers.tsx";
import { Api, Refusal, refusalOf } from "./shared/api.ts";
import { sharedAssets } from "./shared/assets.ts";
import { commonTexts } from "./shared/common_texts.ts";
import { readCookies } from "./shared/cookies.ts";
import { BarePage } from "./layout/document.tsx";
import { type ConsoleSection, mayOpen } from "./shared/page.ts";
import { contentPolicy } from "./shared/request_security.ts";
import { undoPage } from "./shared/undo.ts";
import { readViewer } from "./shared/viewer.ts";
import { openSetUp, setUpSitemap, takeSetUpToken } from "./visit/set_up.tsx";
import { servePage } from "./visit/serve_page.tsx";
import { patternOf, Sitemap } from "./visit/sitemap.ts";

type Env = { Bindings: { ip: string | null } };

/**
 * Creates the operator console: pages under /console, rendered on the server from the API's answers to the viewer.
 * @param handle the service's API, called in the same process.
 * @param extensions sections of extensions, after the built-in ones.
 * @param tasks the API for tasks on lists, without quotas of callers.
 */
export async function createConsole(
  p: ServicePlatform,
  handle: Handle,
  extensions: readonly ConsoleSection[] = [],
  tasks: Handle = handle,
): Promise<Mount & { listPages: ListPages }> {
  const assets = await sharedAssets();
  const answers = new Answers(p, assets.and(extensions.flatMap(({ assets = [] }) => assets)));
  const unserved = unservedPermissions(p.config, await endpointsOf(p));
  const consolePages: ConsolePages = {
    find: (path) => sitemap.find(path),
    isOpen: mayOpen,
    viewerOf: readViewer,
    apiOf: (token, locale) => new Api(tasks, { token, ip: null, headers: {}, locale, unserved }),
  };
  const sections = [...sectionsOf(p.config), ...extensions];
  const sitemap = new Sitemap(sections, [
    ...accountPages(p),
    undoPage,
    ...listPages(p, consolePages),
    ...sections.flatMap(({ pages }) => pages),
  ]);
  const tokens = new TtlCache<string>({ ttlMs: 60_000, maxEntries: 1_000 });
  const parts = { p, handle, answers, sitemap, tokens, unserved };
  if (unserved.size > 0) answers.leavesOut = (path) => !sitemap.hasSection(path);

  const app = new Hono<Env>();
  app.get("/console", () => answers.goTo("", []));
  app.get("/console/assets/:name", (c) => answers.assets.answer(c.req.param("name")));
  const asked = ({ req, env }: Context<Env>) => ({ request: req.raw, ip: env.ip, params: req.param() });
  const signIn = (c: Context<Env>) => new SignInRequest(p, handle, answers, asked(c));
  app.get("/console/sign-in", (c) => signIn(c).open());
  app.post("/console/sign-in", (c) => signIn(c).submit());
  const setUp = { ...parts, sitemap: setUpSitemap };
  app.post("/console/set-up/open", (c) => takeSetUpToken(setUp, asked(c)));
  for (const page of setUpSitemap.pages) {
    app.all(`/console/${patternOf(page)}`, (c) => servePage(setUp, page, asked(c), openSetUp));
  }
  for (const page of sitemap.pages) {
    app.all(`/console/${patternOf(page)}`, (c) => servePage(parts, page, asked(c)));
  }
  app.all("/console/*", (c) => servePage(parts, null, { ...asked(c), params: {} }));
  app.onError((error, c) => showFailure(p, answers, c.req.raw, error));

  const policy = contentPolicy(p.config);
  return {
    listPages: listPagesOf(p, consolePages),
    path: "/console",
    serve: async (request, ip) => addMissing(await app.fetch(request, { ip }), policy),
  };
}

/** The page for an error that was thrown before a page ran, such as by `readViewer`, and for failures of the service. */
async function showFailure(
  p: ServicePlatform,
  answers: Answers,
  request: Request,
  error: Error,
): Promise<Response> {
  const { locale, theme } = readCookies(answers.baseUrl, request.headers);
  const t = commonTexts[locale];
  const failure = error instanceof Problem ? refusalOf(error, locale) : error;
  const refusal = failure instanceof Refusal ? failure : null;
  if (refusal?.status === 401) return await answers.toSignIn(request, refusal.code);
  const trace = crypto.randomUUID();
  if (!refusal) p.log.error("a console page failed", { error, trace });
  return await answers.html(
    <BarePage urls={answers.urls} v={{ locale, theme }} title={t.failed}>
      <h1>{t.failed}</h1>
      <p>
        {refusal ? refusal.text : (
          <>
            {t.failedText} <code>{trace}</code>
          </>
        )}
      </p>
      <p>
        <a href="./">{t.home}</a>
      </p>
    </BarePage>,
    refusal?.status ?? 500,
  );
}
