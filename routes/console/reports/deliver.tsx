import { Fields, formView } from "../components/fields.tsx";
import { done, formPage } from "../shared/actions.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { readTargets } from "./model.tsx";
import { readDelivery } from "./request.ts";
import { atInputs, deliveryFields } from "./request_fields.tsx";
import { reportTexts } from "./texts.ts";

/** The form that delivers the document of a run to others. */
export const deliverPage = formPage({
  path: "report-runs/{id}/deliver",
  async show(v, sent) {
    const t = reportTexts[v.locale];
    const [run, targets] = await Promise.all([
      v.api.call("readReportExecution", { params: v.params }),
      readTargets(v),
    ]);
    const f = new Fields(v, atInputs(v, sent), null, { method: 2 });
    const here = `report-runs/${run.id}`;
    return formView(f, {
      title: t.deliver,
      crumbs: [
        { href: "report-runs", label: t.history },
        { href: here, label: translateBuiltin(v.locale, run.reportName) },
      ],
      submit: t.deliver,
      intro: t.deliverIntro,
      inputs: deliveryFields(f, targets),
    });
  },
  async send(v, form) {
    const delivery = readDelivery(form) ?? { method: 1 };
    await v.api.call("redeliverReport", { params: v.params, body: { delivery } });
    return done(`report-runs/${v.params.id}`, reportTexts[v.locale].deliverQueued);
  },
});
