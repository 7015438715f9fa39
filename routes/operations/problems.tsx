import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { CATALOGUE, isProblemCode, problem } from "../../domain/problems/problem.ts";
import { languageOf } from "../shared/html.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { docsAsset } from "./docs.ts";
import { servicePage } from "./service_page.tsx";

const endpoint = endpointsIn("Operations");

const ProblemPage = z.object({
  code: z.string(),
  status: z.int(),
  title: z.string(),
  meaning: z.string(),
  mend: z.string(),
}).meta({ id: "ProblemPage" });

const TEXTS = {
  en: { short: "In short", meaning: "What it means", fix: "How to fix it", answer: "The answer" },
  pt: { short: "Em resumo", meaning: "O que significa", fix: "Como resolver", answer: "A resposta" },
};

/** `GET /problems/{CODE}`: the page of a problem's `type` URL, as JSON or HTML depending on Accept. */
export const problemRoutes = [
  endpoint("GET /problems/{code}", {
    id: "readProblem",
    summary: "Read what an error code means and how to fix it",
    access: anyone,
    service: "essential",
    params: z.object({ code: z.string() }),
    answers: {
      200: { description: "The description of the code", schema: ProblemPage, alsoAs: ["text/html"] },
    },
    problems: ["ROUTE_NOT_FOUND"],
    run({ params: { code }, call: { request: { headers } } }) {
      if (!isProblemCode(code)) throw problem("ROUTE_NOT_FOUND", `No problem has the code "${code}".`);
      const { status, title, meaning, fix, user } = CATALOGUE[code];
      if (!headers.get("accept")?.includes("text/html")) {
        return ok({ code, status, title, meaning, mend: fix });
      }
      const language = languageOf(headers.get("accept-language"));
      const t = TEXTS[language];
      return servicePage({
        title: `${code}`,
        root: "../",
        language,
        styles: [`../${docsAsset("docs.css")}`],
        body: (
          <article class="card narrow">
            {language === "en" ? <h1>{title}</h1> : <h1 lang="en">{title}</h1>}
            <p>
              <code>{code}</code>
            </p>
            <h2>{t.short}</h2>
            <p>{user[language]}</p>
            <h2>{t.meaning}</h2>
            <p lang="en">{meaning}</p>
            <h2>{t.fix}</h2>
            <p lang="en">{fix}</p>
            <p class="muted">{`${t.answer}: ${status}, application/problem+json`}</p>
          </article>
        ),
      });
    },
  }),
] as const;
