import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { CATALOGUE, isProblemCode } from "../../domain/problems/catalogue.ts";
import { problem } from "../../domain/problems/problem.ts";
import { ok, text } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { page } from "./page.ts";

const ProblemPage = z.object({
  code: z.string(),
  status: z.int(),
  title: z.string(),
  meaning: z.string(),
  mend: z.string(),
}).meta({ id: "ProblemPage" });

/** `GET /problems/{CODE}`: the page of a problem's `type` URL, as JSON or HTML depending on Accept. */
export const problemRoutes = [
  endpoint({
    method: "get",
    path: "/problems/{code}",
    area: "Operations",
    id: "readProblem",
    summary: "Read what an error code means and how to fix it",
    access: anyone,
    skipsConnectionWait: true,
    params: z.object({ code: z.string() }),
    answers: {
      200: { description: "The description of the code", schema: ProblemPage, alsoAs: ["text/html"] },
    },
    problems: ["ROUTE_NOT_FOUND"],
    run({ params: { code }, call }) {
      if (!isProblemCode(code)) throw problem("ROUTE_NOT_FOUND", `No problem has the code "${code}".`);
      const { status, title, meaning, mend } = CATALOGUE[code];
      if (!call.request.headers.get("accept")?.includes("text/html")) {
        return ok({ code, status, title, meaning, mend });
      }
      const body = `<p class="code">${status} &middot; <code>${code}</code></p><h1>${title}</h1>
<h2>What it means</h2><p>${meaning}</p><h2>How to fix it</h2><p>${mend}</p>`;
      return text(page(title, body), "text/html; charset=utf-8");
    },
  }),
] as const;
