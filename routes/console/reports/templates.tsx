import { buttonLink } from "../components/forms.tsx";
import { actionsColumn, choicesOf } from "../components/list.tsx";
import { dataTable } from "../components/table.tsx";
import { Empty } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { field, type View, type Visit } from "../shared/page.ts";
import { formatName, readTargets, readTemplate, readTemplates } from "./model.tsx";
import { reportTexts } from "./texts.ts";
import { Fields, formView } from "../components/fields.tsx";
import { done, formPage } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { atInputs, readRequest, requestFields, valuesOf } from "./request.tsx";

/** The reports whose data the viewer may see. */
export async function templatesPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const templates = await readTemplates(v);
  return {
    title: t.templates,
    body: dataTable(
      t.templatesCaption,
      templates,
      <Empty icon="reports" title={t.noTemplates}>{t.noTemplatesText}</Empty>,
      [
        {
          head: t.report,
          cell: ({ templateId, displayName, description, isGlobal }) => [
            <span class="row">
              <a href={`reports/${encodeURIComponent(templateId)}`}>{displayName}</a>
              {isGlobal && <Badge tone="idle">{t.allRows}</Badge>}
            </span>,
            <span class="sub">{description}</span>,
          ],
        },
        {
          head: t.formats,
          cell: ({ supportedFormats }) => supportedFormats.map(formatName).join(", "),
          wideOnly: true,
        },
        {
          head: t.parameters,
          cell: ({ parameters }) => parameters.map(({ displayName }) => displayName).join(", "),
          wideOnly: true,
        },
        actionsColumn(
          v,
          ({ templateId }) =>
            buttonLink(`reports/${encodeURIComponent(templateId)}`, t.generate, { icon: "play" }),
        ),
      ],
    ),
  };
}

/** The form to generate a report. `?from=` fills it with the parameters of an earlier run. */
export const generatePage = formPage({
  path: "reports/{templateId}",
  async show(v, sent) {
    const t = reportTexts[v.locale];
    const [template, targets] = await Promise.all([readTemplate(v, v.params.templateId), readTargets(v)]);
    const { displayName, description } = template;
    const templateId = encodeURIComponent(template.templateId);
    const from = v.query.get("from");
    const run = from ? await v.api.call("readReportExecution", { params: { id: from } }) : null;
    const f = new Fields(v, atInputs(v, sent), "generateReportAsync", valuesOf(v, template, run));
    return formView(f, {
      title: displayName,
      actions: [
        buttonLink(`report-runs?templateId=${templateId}`, t.history),
        buttonLink(`report-schedules/new?template=${templateId}`, t.schedule, { icon: "schedules" }),
      ],
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
