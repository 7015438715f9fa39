import type { z } from "zod";
import { PRIORITIES } from "../../../domain/jobs/job_row.ts";
import type { JobTypeDto } from "../../jobs/shapes.ts";
import { CsrfField, FormButtons, FormRefusal, SelectField, TextField } from "../components/forms.tsx";
import { instantOf } from "../components/date_inputs.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { duration } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { ArgsFields } from "./args_fields.tsx";
import { argErrors, fieldsOf, readArgs, type Typed, typedOf } from "./args_form.ts";
import type { Job } from "./job_status.tsx";
import { jobPriorityLabels, jobTexts } from "./texts.ts";

export type JobTypeItem = z.output<typeof JobTypeDto>;

const OPTIONS = ["queue", "priority", "scheduledAt", "maxRetries", "parentJobId"] as const;

interface Shown {
  type: JobTypeItem;
  args: Typed;
  options: Partial<Record<typeof OPTIONS[number], string>>;
  errors: Record<string, string[]>;
  refusal: Refusal | null;
}

/** The form to enqueue a job, generated from the job type's schema. `?copy=` fills it with an existing job's values. */
export async function enqueuePage(v: Visit): Promise<View> {
  const types = await v.api.get<JobTypeItem[]>("jobs/types");
  const copied = v.query.get("copy") ? await v.api.get<Job>(`jobs/${v.query.get("copy")}`) : null;
  const name = v.query.get("jobTypeName") ?? copied?.jobTypeName;
  const type = types.find((type) => type.name === name) ?? types[0];
  if (!type) {
    return { ...head(v), body: <Empty icon="jobs" title={jobTexts[v.locale].noTypes} /> };
  }
  const isCopy = copied?.jobTypeName === type.name;
  return formView(v, types, {
    type,
    args: isCopy ? typedOf(fieldsOf(type.argsSchema), copied.serializedArgs) : {},
    options: isCopy
      ? { queue: copied.queue, priority: copied.priority, maxRetries: String(copied.maxRetries) }
      : { queue: "default", priority: "Normal" },
    errors: {},
    refusal: null,
  });
}

/** Enqueues the job, or shows the form again with the errors. */
export async function enqueueJob(v: Visit, form: FormData): Promise<Outcome> {
  const t = jobTexts[v.locale];
  const types = await v.api.get<JobTypeItem[]>("jobs/types");
  const type = types.find((type) => type.name === field(form, "jobTypeName"));
  if (!type) return { goTo: "jobs/new" };
  const fields = fieldsOf(type.argsSchema);
  const args = readArgs(fields, form, t);
  const options = Object.fromEntries(OPTIONS.map((name) => [name, field(form, name)]));
  const shown = { type, args: args.typed, options };
  const scheduledAt = instantOf(v, options.scheduledAt ?? "");
  if (options.scheduledAt && !scheduledAt) args.errors.scheduledAt = [t.badTime];
  if (Object.keys(args.errors).length > 0) {
    return { ...formView(v, types, { ...shown, errors: args.errors, refusal: null }), status: 400 };
  }
  const maxRetries = optionalField(form, "maxRetries");
  try {
    const job = await v.api.send<Job>("POST", "jobs", {
      jobTypeName: type.name,
      serializedArgs: args.serializedArgs,
      queue: optionalField(form, "queue"),
      priority: optionalField(form, "priority"),
      scheduledAt,
      maxRetries: maxRetries === undefined ? undefined : Number(maxRetries),
      parentJobId: optionalField(form, "parentJobId"),
    });
    return { goTo: `jobs/${job.id}`, flash: { tone: "ok", text: t.enqueued } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const { serializedArgs = [], ...others } = refusal.fields;
    const errors = { ...others, ...argErrors(fields, serializedArgs) };
    return { ...formView(v, types, { ...shown, errors, refusal }), status: refusal.status };
  }
}

const head = (v: Visit) => ({
  title: jobTexts[v.locale].enqueue,
  crumbs: [{ href: "jobs", label: jobTexts[v.locale].jobs }],
});

function formView(v: Visit, types: JobTypeItem[], { type, args, options, errors, refusal }: Shown): View {
  const t = jobTexts[v.locale];
  const hasErrors = Object.keys(errors).length > 0;
  return {
    ...head(v),
    body: (
      <Card>
        <TypeChoice v={v} types={types} type={type} action="jobs/new" />
        <form method="post" action="jobs/new" class="form">
          <CsrfField v={v} />
          <input type="hidden" name="jobTypeName" value={type.name} />
          <FormRefusal
            refusal={refusal}
            known={[...OPTIONS, "serializedArgs"]}
          />
          {!refusal && hasErrors && <Notice tone="bad">{Object.values(errors).flat().join(" ")}</Notice>}
          <ArgsFields v={v} fields={fieldsOf(type.argsSchema)} typed={args} errors={errors} />
          <fieldset>
            <legend>{t.options}</legend>
            <div class="pair">
              <TextField
                label={t.queue}
                name="queue"
                value={options.queue}
                maxlength={64}
                errors={errors.queue}
              />
              <SelectField
                label={t.priority}
                name="priority"
                value={options.priority}
                errors={errors.priority}
                choices={PRIORITIES.map((value) => ({ value, label: jobPriorityLabels[v.locale][value] }))}
              />
              <TextField
                label={t.scheduledAt}
                name="scheduledAt"
                type="datetime-local"
                value={options.scheduledAt}
                hint={t.scheduledHint(v.timeZone)}
                errors={errors.scheduledAt}
              />
              <TextField
                label={t.maxRetries}
                name="maxRetries"
                type="number"
                min={0}
                max={25}
                value={options.maxRetries}
                hint={t.maxRetriesHint}
                errors={errors.maxRetries}
              />
            </div>
            <TextField
              label={t.parentId}
              name="parentJobId"
              value={options.parentJobId}
              hint={t.parentHint}
              errors={errors.parentJobId}
            />
          </fieldset>
          <FormButtons v={v} label={t.enqueueNow} back="jobs" />
        </form>
      </Card>
    ),
  };
}

/** Selects the job type of the form. */
export function TypeChoice({ v, types, type, action }: {
  v: Visit;
  types: JobTypeItem[];
  type: JobTypeItem;
  action: string;
}) {
  const t = jobTexts[v.locale];
  return (
    <form method="get" action={action} class="form">
      <div class="field">
        <label for="f-type">{t.chooseType}</label>
        <select id="f-type" name="jobTypeName" data-submit aria-describedby="f-type-hint">
          {types.map(({ name }) => <option value={name} selected={name === type.name}>{name}</option>)}
        </select>
        <div class="hint" id="f-type-hint">
          {t.typeFacts(type.maxRetries, duration(v, type.timeoutMs))}
          {type.concurrency !== null && ` ${t.atMost(type.concurrency)}`}
        </div>
      </div>
      <div class="no-script">
        <button type="submit" class="button">{t.choose}</button>
      </div>
    </form>
  );
}
