import { scheduleMistakes } from "../../../domain/jobs/cron.ts";
import { CsrfField, FormButtons, FormRefusal, TextArea, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { readTemplate, readTemplates, type Schedule, type Template } from "./model.tsx";
import { errorsOf, newForm, readRequest, scheduleForm, shownFields } from "./request.ts";
import { RequestFields } from "./request_fields.tsx";
import { RunTimes } from "./schedule.tsx";
import { scheduleTexts } from "./schedule_texts.ts";

/** The form of a new schedule. Without `?template=`, a list of reports to choose from. */
export async function newSchedulePage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const templateId = v.query.get("template");
  if (templateId) {
    const template = await readTemplate(v, templateId);
    const values = { cronExpression: "0 8 * * 1", timeZoneId: v.timeZone, name: template.displayName };
    return formView(v, template, newForm(template, values), null);
  }
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

/** The form to edit a schedule. */
export async function editSchedulePage(v: Visit): Promise<View> {
  const answer = await v.api.request("GET", `/api/v1/reports/schedules/${v.params.id}`);
  const schedule: Schedule = await answer.json();
  const template = await readTemplate(v, schedule.templateId);
  const form = scheduleForm(v, template, schedule);
  form.set("version", answer.headers.get("etag") ?? "");
  return formView(v, template, form, null);
}

export async function createSchedule(v: Visit, form: FormData): Promise<Outcome> {
  const template = await readTemplate(v, v.query.get("template") ?? "");
  try {
    const { id } = await v.api.send<Schedule>("POST", "reports/schedules", {
      templateId: template.templateId,
      name: field(form, "name"),
      description: optionalField(form, "description"),
      cronExpression: field(form, "cronExpression"),
      timeZoneId: field(form, "timeZoneId"),
      ...readRequest(v, form, template),
    });
    return { goTo: `report-schedules/${id}`, flash: { tone: "ok", text: scheduleTexts[v.locale].created } };
  } catch (refusal) {
    if (!isShownOnForm(refusal)) throw refusal;
    return formView(v, template, form, refusal);
  }
}

export async function updateSchedule(v: Visit, form: FormData): Promise<Outcome> {
  const path = `reports/schedules/${v.params.id}`;
  const { templateId } = await v.api.get<Schedule>(path);
  const template = await readTemplate(v, templateId);
  const { format, parameters, delivery, burst } = readRequest(v, form, template);
  const version = field(form, "version");
  try {
    await v.api.send("PUT", path, {
      name: field(form, "name"),
      description: field(form, "description"),
      cronExpression: field(form, "cronExpression"),
      timeZoneId: field(form, "timeZoneId"),
      format,
      parametersJson: JSON.stringify(parameters),
      deliveryOptionsJson: JSON.stringify(delivery),
      burstJson: JSON.stringify(burst),
    }, version ? { "if-match": version } : {});
  } catch (refusal) {
    if (!isShownOnForm(refusal)) throw refusal;
    return formView(v, template, form, refusal);
  }
  return {
    goTo: `report-schedules/${v.params.id}`,
    flash: { tone: "ok", text: scheduleTexts[v.locale].saved },
  };
}

const isShownOnForm = (refusal: unknown): refusal is Refusal =>
  refusal instanceof Refusal && [400, 412, 422].includes(refusal.status);

function formView(v: Visit, template: Template, form: FormData, refusal: Refusal | null): View {
  const t = scheduleTexts[v.locale];
  const { id } = v.params;
  const path = id ? `report-schedules/${id}/edit` : "report-schedules/new";
  return {
    title: id ? t.edit : t.newOf(template.displayName),
    crumbs: [
      { href: "report-schedules", label: t.schedules },
      ...id ? [{ href: `report-schedules/${id}`, label: field(form, "name") }] : [],
    ],
    status: refusal ? 422 : 200,
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={shownFields(refusal)} />
        <form
          method="post"
          action={id ? path : `${path}?template=${encodeURIComponent(template.templateId)}`}
          class="form"
        >
          <CsrfField v={v} />
          <input type="hidden" name="version" value={field(form, "version")} />
          <TextField
            label={t.name}
            name="name"
            required
            maxlength={200}
            value={field(form, "name")}
            errors={errorsOf(refusal, "name")}
          />
          <TextArea
            label={t.description}
            name="description"
            rows={2}
            value={field(form, "description")}
            errors={errorsOf(refusal, "description")}
          />
          <CronFields v={v} form={form} refusal={refusal} />
          <RequestFields v={v} template={template} form={form} refusal={refusal} />
          <FormButtons
            v={v}
            label={id ? commonTexts[v.locale].save : commonTexts[v.locale].create}
            back={id ? `report-schedules/${id}` : "report-schedules"}
          />
        </form>
      </Card>
    ),
  };
}

/** Cron expression and time zone. While the user types, htmx reloads the next runs from this page. */
function CronFields({ v, form, refusal }: { v: Visit; form: FormData; refusal: Refusal | null }) {
  const t = scheduleTexts[v.locale];
  const cron = v.query.get("cronExpression") ?? field(form, "cronExpression");
  const zone = v.query.get("timeZoneId") ?? field(form, "timeZoneId");
  const mistakes = scheduleMistakes(cron, zone);
  return (
    <fieldset>
      <legend>{t.schedule}</legend>
      <div
        class="pair"
        hx-get={v.address}
        hx-include="#f-cronExpression, #f-timeZoneId"
        hx-target="#next-runs"
        hx-select="#next-runs"
        hx-swap="outerHTML"
        hx-trigger="input delay:400ms"
      >
        <TextField
          label={t.cron}
          name="cronExpression"
          required
          maxlength={200}
          value={field(form, "cronExpression")}
          hint={t.cronHint}
          errors={errorsOf(refusal, "cronExpression")}
        />
        <TextField
          label={t.zone}
          name="timeZoneId"
          required
          maxlength={100}
          value={field(form, "timeZoneId")}
          suggestions={Intl.supportedValuesOf("timeZone")}
          hint={t.zoneHint}
          errors={errorsOf(refusal, "timeZoneId")}
        />
      </div>
      <div id="next-runs" aria-live="polite">
        <strong>{t.nextRuns}</strong>
        {Object.keys(mistakes).length === 0
          ? <RunTimes v={v} cron={cron} zone={zone} />
          : <p class="muted break">{Object.values(mistakes).flat().join(" ")}</p>}
      </div>
    </fieldset>
  );
}
