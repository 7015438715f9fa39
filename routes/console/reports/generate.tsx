import { ButtonLink, CsrfField, FormRefusal, SelectField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { field, type Outcome, type View, type Visit } from "../shared/page.ts";
import { readTemplate, type Run, type Template } from "./model.tsx";
import { errorsOf, newForm, readRequest, setParameters, shownFields } from "./request.ts";
import { RequestFields } from "./request_fields.tsx";
import { reportTexts } from "./texts.ts";

/** The form to generate a report. `?from=` fills it with the parameters of an earlier run. */
export async function generatePage(v: Visit): Promise<View> {
  const template = await readTemplate(v, v.params.templateId ?? "");
  const form = newForm(template);
  const from = v.query.get("from");
  if (from) {
    const run = await v.api.get<Run>(`reports/${encodeURIComponent(from)}`);
    form.set("format", String(run.format));
    setParameters(v, form, template, run.parametersJson);
  }
  return view(v, template, form, null);
}

function view(v: Visit, template: Template, form: FormData, refusal: Refusal | null): View {
  const t = reportTexts[v.locale];
  const { templateId, displayName, description } = template;
  const path = `reports/${encodeURIComponent(templateId)}`;
  return {
    title: displayName,
    crumbs: [{ href: "reports", label: t.templates }],
    status: refusal ? 422 : 200,
    actions: (
      <>
        <ButtonLink href={`report-runs?templateId=${encodeURIComponent(templateId)}`} label={t.history} />
        <ButtonLink
          href={`report-schedules/new?template=${encodeURIComponent(templateId)}`}
          label={t.schedule}
          icon="schedules"
        />
      </>
    ),
    body: (
      <Card>
        <p class="muted">{description}</p>
        <FormRefusal refusal={refusal} known={shownFields(refusal)} />
        <form method="post" action={path} class="form">
          <CsrfField v={v} />
          <RequestFields v={v} template={template} form={form} refusal={refusal} />
          <SelectField
            label={t.when}
            name="when"
            value={field(form, "when")}
            choices={[{ value: "later", label: t.inBackground }, { value: "now", label: t.now }]}
            errors={errorsOf(refusal, "when")}
          />
          <div class="row">
            <button type="submit" class="button primary">{t.generate}</button>
          </div>
        </form>
      </Card>
    ),
  };
}

/** Requests the report and redirects to its run, or shows the form again with the errors. */
export async function generate(v: Visit, form: FormData): Promise<Outcome> {
  const t = reportTexts[v.locale];
  const template = await readTemplate(v, v.params.templateId ?? "");
  const asked = readRequest(v, form, template);
  const { templateId } = template;
  const isNow = field(form, "when") === "now";
  try {
    if (isNow && (asked.delivery || asked.burst)) {
      const detail = t.needsBackground;
      throw new Refusal({ status: 422, detail, errors: { when: [detail] } });
    }
    if (isNow) {
      const { format, parameters } = asked;
      const { id } = await v.api.send<Run>("POST", "reports/generate", { templateId, format, parameters });
      return { goTo: `report-runs/${id}`, flash: { tone: "ok", text: t.generated } };
    }
    const { id, burstId } = await v.api.send<{ id: string; burstId?: string }>(
      "POST",
      "reports/generate-async",
      { templateId, ...asked },
    );
    const goTo = burstId ? `report-runs?burstId=${burstId}` : `report-runs/${id}`;
    return { goTo, flash: { tone: "ok", text: t.queued } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 413, 422].includes(refusal.status)) throw refusal;
    return view(v, template, form, refusal);
  }
}
