import { Fields, formView } from "../components/fields.tsx";
import { buttonLink } from "../components/forms.tsx";
import { choicesOf } from "../components/list.tsx";
import { done, formPage } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { field } from "../shared/page.ts";
import { readTargets, readTemplate } from "./model.tsx";
import { readRequest, valuesOf } from "./request.ts";
import { atInputs, requestFields } from "./request_fields.tsx";
import { reportTexts } from "./texts.ts";

/** The form to generate a report. `?from=` fills it with the parameters of an earlier run. */
export const generatePage = formPage({
  path: "reports/{templateId}",
  async show(v, sent) {
    const t = reportTexts[v.locale];
    const [template, targets] = await Promise.all([
      readTemplate(v, v.params.templateId),
      readTargets(v),
    ]);
    const { displayName, description } = template;
    const templateId = encodeURIComponent(template.templateId);
    const from = v.query.get("from");
    const run = from ? await v.api.call("readReportExecution", { params: { id: from } }) : null;
    const f = new Fields(v, atInputs(v, sent), "generateReportAsync", valuesOf(v, template, run));
    return formView(f, {
      title: displayName,
      crumbs: [{ href: "reports", label: t.templates }],
      actions: (
        <>
          {buttonLink(`report-runs?templateId=${templateId}`, t.history)}
          {buttonLink(`report-schedules/new?template=${templateId}`, t.schedule, { icon: "schedules" })}
        </>
      ),
      submit: t.generate,
      back: null,
      intro: description,
      inputs: [
        requestFields(f, template, targets),
        f.select("when", t.when, choicesOf({ later: t.inBackground, now: t.now })),
      ],
    });
  },
  async send(v, form) {
    const t = reportTexts[v.locale];
    const template = await readTemplate(v, v.params.templateId);
    const { templateId } = template;
    const { format, parameters, delivery, burst } = readRequest(v, form, template);
    if (field(form, "when") !== "now") {
      const body = { templateId, format, parameters, delivery, burst };
      const { id, burstId } = await v.api.call("generateReportAsync", { body });
      return done(burstId ? `report-runs?burstId=${burstId}` : `report-runs/${id}`, t.queued);
    }
    if (delivery || burst) {
      const detail = t.needsBackground;
      throw new Refusal({ status: 422, detail, errors: { when: [detail] } });
    }
    const { id } = await v.api.call("generateReport", { body: { templateId, format, parameters } });
    return done(`report-runs/${id}`, t.generated);
  },
});
