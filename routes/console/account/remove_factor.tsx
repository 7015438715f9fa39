import { problem } from "../../../domain/problems/problem.ts";
import { CsrfField } from "../components/forms.tsx";
import { done, formPage } from "../shared/actions.ts";
import type { View, Visit } from "../shared/page.ts";
import type { Sent } from "../shared/actions.ts";
import { factorTexts } from "./factor_texts.ts";
import { ProofForms, proofOf } from "./proof_forms.tsx";

const PATH = "account/security";

/** Removes a factor, after the password or a factor. */
export const removeFactorPage = formPage({
  path: `${PATH}/{id}/remove`,
  show: removeView,
  restarts: "always",
  async send(v, form) {
    await v.api.call("removeFactor", { params: v.params, body: proofOf(form) });
    return done(PATH, factorTexts[v.locale].factorRemoved);
  },
});

async function removeView(v: Visit, sent: Sent | null): Promise<View> {
  const t = factorTexts[v.locale];
  const [choice, { factors }] = await Promise.all([
    v.api.call("readStepUpChoice"),
    v.api.call("listOwnFactors"),
  ]);
  const factor = factors.find(({ id }) => id === v.params.id);
  if (!factor) throw problem("FACTOR_NOT_FOUND", `The viewer has no factor ${v.params.id}.`);
  const name = factor.kind === "passkey" ? factor.name : t.totp;
  return {
    title: t.removeTitle(name),
    crumbs: [{ href: PATH, label: t.security }],
    scripts: ["passkey.js"],
    body: (
      <>
        <p>{t.removeText}</p>
        <ProofForms
          locale={v.locale}
          action={`${PATH}/${v.params.id}/remove`}
          choice={choice}
          refusal={sent?.refusal ?? null}
          label={t.removeFactor}
          isEither
        >
          <CsrfField v={v} />
        </ProofForms>
      </>
    ),
  };
}
