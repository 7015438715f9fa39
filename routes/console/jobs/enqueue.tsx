import { PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { timeIn } from "../components/date_inputs.ts";
import { Fields, Form, formView } from "../components/fields.tsx";
import { labelled } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { duration } from "../components/values.tsx";
import { done, formPage } from "../shared/actions.ts";
import type { Row } from "../shared/operations.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import {
  type ArgField,
  ArgsFields,
  argsOf,
  fieldsOf,
  sentArgs,
  typedOf,
  withArgErrors,
} from "./args_form.tsx";
import { PauseBanner } from "./pauses.tsx";
import { priorityLabels } from "../shared/labels.ts";
import { jobTexts } from "./texts.ts";

type JobType = Row<"listJobTypes">;

/** Enqueues a job. The job type's schema describes the form. `?copy=` fills it with an existing job's values. */
export const enqueuePage = formPage({
  path: "jobs/new",
  async show(v, sent) {
    const t = jobTexts[v.locale];
    const types = await v.api.call("listJobTypes");
    const copy = v.query.get("copy");
    const copied = copy ? await v.api.call("readJob", { params: { id: copy } }) : null;
    const name = sent?.form?.get("jobTypeName") ?? v.query.get("jobTypeName") ?? copied?.jobTypeName;
    const type = types.find((type) => type.name === name) ?? types[0];
    if (!type) return { title: t.enqueue, body: <Empty icon="jobs" title={t.noTypes} /> };
    const args = fieldsOf(type.argsSchema);
    const values = copied?.jobTypeName === type.name
      ? { ...copied, scheduledAt: "", parentJobId: "", ...typedOf(args, copied.serializedArgs) }
      : { queue: "default", priority: "Normal" };
    const f = new Fields(v, withArgErrors(sent, args), "enqueueJob", values);
    return {
      title: t.enqueue,
      body: [
        <PauseBanner v={v} />,
        <Card>
          <TypeChoice v={v} types={types} type={type} action="jobs/new" />
          <Form fields={f} action="jobs/new" submit={t.enqueueNow} back="jobs">
            <input type="hidden" name="jobTypeName" value={type.name} />
            <ArgsFields f={f} args={args} />
            <fieldset>
              <legend>{t.options}</legend>
              <div class="pair">
                {f.text("queue", t.queue, { maxlength: 64 })}
                {f.select("priority", t.priority, labelled(PRIORITIES, priorityLabels[v.locale]))}
                {f.text("scheduledAt", t.scheduledAt, {
                  type: "datetime-local",
                  hint: t.scheduledHint(v.timeZone),
                })}
                {f.text("maxRetries", t.retries, { type: "number", min: 0, max: 25, hint: t.maxRetriesHint })}
              </div>
              {f.text("parentJobId", t.parent, { hint: t.parentHint })}
            </fieldset>
          </Form>
        </Card>,
      ],
    };
  },
  async send(v, form) {
    const t = jobTexts[v.locale];
    const jobTypeName = field(form, "jobTypeName");
    const type = (await v.api.call("listJobTypes")).find(({ name }) => name === jobTypeName);
    if (!type) return { goTo: "jobs/new" };
    const serializedArgs = sentArgs(v, form, fieldsOf(type.argsSchema));
    const maxRetries = optionalField(form, "maxRetries");
    const { id } = await v.api.call("enqueueJob", {
      body: {
        jobTypeName,
        serializedArgs,
        queue: optionalField(form, "queue"),
        priority: optionalField(form, "priority"),
        scheduledAt: timeIn(v, form, "scheduledAt"),
        maxRetries: maxRetries === undefined ? undefined : Number(maxRetries),
        parentJobId: optionalField(form, "parentJobId"),
      },
    });
    return done(`jobs/${id}`, t.enqueued);
  },
});

/** Selects the job type of the form. */
export function TypeChoice({ v, types, type, action }: {
  v: Visit;
  types: JobType[];
  type: JobType;
  action: string;
}) {
  const t = jobTexts[v.locale];
  return (
    <form method="get" action={action} class="form">
      <div class="field">
        <label for="f-type">{t.jobType}</label>
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

/** Runs an ended job again with other arguments. The form has an input per argument, filled with those of the job. */
export const runAgainPage = formPage({
  path: "jobs/{id}/run-again",
  async show(v, sent) {
    const t = jobTexts[v.locale];
    const { job, args } = await readArgsOf(v);
    const f = new Fields(v, withArgErrors(sent, args), "retryJob", typedOf(args, job.serializedArgs));
    return formView(f, {
      title: t.runChanged,
      crumbs: crumbsTo(v, { href: `jobs/${job.id}`, label: job.jobTypeName }),
      submit: t.runIt,
      intro: t.runChangedIntro,
      inputs: <ArgsFields f={f} args={args} />,
    });
  },
  async send(v, form) {
    const { args } = await readArgsOf(v);
    const serializedArgs = sentArgs(v, form, args);
    const { id } = await v.api.call("retryJob", { params: v.params, body: { serializedArgs } });
    return done(`jobs/${id}`, jobTexts[v.locale].queuedAgain);
  },
});

/** The job, and the form fields of its arguments; null: they are one JSON text, because fields cannot hold all of them. */
async function readArgsOf(v: Visit) {
  const job = await v.api.call("readJob", { params: v.params });
  const args = await argsOf(v, job.jobTypeName);
  return { job, args: args && holdsAll(args, job.serializedArgs) ? args : null };
}

function holdsAll(fields: ArgField[], serializedArgs: string): boolean {
  const args: unknown = JSON.parse(serializedArgs);
  if (typeof args !== "object" || args === null || Array.isArray(args)) return false;
  return Object.keys(args).every((name) => fields.some((field) => field.name === name));
}
