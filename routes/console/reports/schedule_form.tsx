import { Fields, formView } from "../components/fields.tsx";
import { ScheduleEditor, scheduleValues, sentSchedule } from "../components/schedule_editor.tsx";
import { Card } from "../components/notice.tsx";
import { done, formPage } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type View, type Visit } from "../shared/page.ts";
import { readTargets, readTemplate, readTemplates, type Target, type Template } from "./model.tsx";
import { readRequest, valuesOf } from "./request.ts";
import { atInputs, requestFields } from "./request_fields.tsx";
import { scheduleTexts } from "./schedule_texts.ts";

/** The form of a new schedule. Without `?template=`, a list of reports to choose from. */
export const newSchedulePage = formPage({
  path: "report-schedules/new",
  async show(v, sent) {
    const templateId = v.query.get("template");
    if (!templateId) return await templateChoice(v);
    const [template, targets] = await Promise.all([readTemplate(v, templateId), readTargets(v)]);
    const f = new Fields(v, atInputs(v, sent), "createReportSchedule", {
      ...valuesOf(v, template, null),
      ...scheduleValues(v, { cronExpression: "0 8 * * 1" }),
      name: template.displayName,
    });
    return scheduleForm(f, template, targets);
  },
  async send(v, form) {
    const template = await readTemplate(v, v.query.get("template") ?? "");
    const { id } = await v.api.call("createReportSchedule", {
      body: {
        templateId: template.templateId,
        ...commonOf(v, form),
        description: optionalField(form, "description"),
        ...readRequest(v, form, template),
      },
    });
    return done(`report-schedules/${id}`, scheduleTexts[v.locale].created);
  },
});

/** The form to edit a schedule. */
export const editSchedulePage = formPage({
  path: "report-schedules/{id}/edit",
  async show(v, sent) {
    const { value: schedule, etag } = await v.api.versioned("readReportSchedule", { params: v.params });
    const [template, targets] = await Promise.all([
      readTemplate(v, schedule.templateId),
      readTargets(v),
    ]);
    const values = { ...schedule, ...scheduleValues(v, schedule), ...valuesOf(v, template, schedule), etag };
    return scheduleForm(new Fields(v, atInputs(v, sent), "createReportSchedule", values), template, targets);
  },
  async send(v, form) {
    const { params } = v;
    const { templateId } = await v.api.call("readReportSchedule", { params });
    const { format, parameters, delivery, burst } = readRequest(v, form, await readTemplate(v, templateId));
    await v.api.call("updateReportSchedule", {
      params,
      body: {
        ...commonOf(v, form),
        description: field(form, "description"),
        format,
        parametersJson: JSON.stringify(parameters),
        deliveryOptionsJson: JSON.stringify(delivery),
        burstJson: JSON.stringify(burst),
      },
      ifMatch: field(form, "etag"),
    });
    return done(`report-schedules/${params.id}`, scheduleTexts[v.locale].saved);
  },
});

const commonOf = (v: Visit, form: FormData) => ({
  name: field(form, "name"),
  ...sentSchedule(v, form),
});

async function templateChoice(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const templates = await readTemplates(v);
  return {
    title: t.newSchedule,
    crumbs: [{ href: "report-schedules", label: t.schedules }],
    body: (
      <Card title={t.chooseReport}>
        <ul>
          {templates.map(({ templateId, displayName, description }) => (
            <li>
              <a href={`report-schedules/new?template=${encodeURIComponent(templateId)}`}>{displayName}</a>
              {" "}
              <span class="muted">{description}</span>
            </li>
          ))}
        </ul>
      </Card>
    ),
  };
}

function scheduleForm(f: Fields, template: Template, targets: Target[]): View {
  const { v } = f;
  const t = scheduleTexts[v.locale];
  const { id } = v.params;
  const list = { href: "report-schedules", label: t.schedules };
  const here = `report-schedules/${id}`;
  const creation = `report-schedules/new?template=${encodeURIComponent(template.templateId)}`;
  return formView(f, {
    title: id ? t.edit : t.newOf(template.displayName),
    crumbs: id ? [list, { href: here, label: f.value("name") }] : [list],
    action: id ? `${here}/edit` : creation,
    submit: id ? undefined : commonTexts[v.locale].create,
    inputs: [
      f.text("name", t.name),
      f.area("description", t.description, { rows: 2 }),
      <ScheduleEditor f={f} legend={t.schedule} />,
      requestFields(f, template, targets),
    ],
  });
}
