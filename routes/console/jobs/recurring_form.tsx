import type { Child } from "hono/jsx";
import { Fields, formView } from "../components/fields.tsx";
import { ScheduleEditor, scheduleValues, sentSchedule } from "../components/schedule_editor.tsx";
import { Empty } from "../components/notice.tsx";
import { done, formPage } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type View, type Visit } from "../shared/page.ts";
import { ArgsFields, sentArgs, withArgErrors } from "./args_fields.tsx";
import { type ArgField, fieldsOf, typedOf } from "./args_form.ts";
import { TypeChoice } from "./enqueue.tsx";
import { recurringJobTexts } from "./recurring_texts.ts";
import { jobTexts } from "./texts.ts";

/** Path of the page of a recurring job. */
export const pathOf = (id: string): string => `recurring/${encodeURIComponent(id)}`;

/** Creates a recurring job. Not at recurring/new: users choose the ids, and an id may be "new". */
export const newRecurringPage = formPage({
  path: "recurring/new/form",
  async show(v, sent) {
    const t = recurringJobTexts[v.locale];
    const types = await v.api.call("listJobTypes");
    const asked = sent?.form?.get("jobTypeName") ?? v.query.get("jobTypeName");
    const type = types.find(({ name }) => name === asked) ?? types[0];
    if (!type) return { title: t.create, body: <Empty title={jobTexts[v.locale].noTypes} /> };
    const args = fieldsOf(type.argsSchema);
    const f = new Fields(v, withArgErrors(sent, args), "createRecurringJob", {
      ...scheduleValues(v),
      queue: "default",
    });
    return recurringForm(f, args, type.name, {
      above: <TypeChoice v={v} types={types} type={type} action="recurring/new/form" />,
    });
  },
  async send(v, form) {
    const jobTypeName = field(form, "jobTypeName");
    const type = (await v.api.call("listJobTypes")).find(({ name }) => name === jobTypeName);
    const serializedArgs = sentArgs(v, form, type && fieldsOf(type.argsSchema));
    const { jobId } = await v.api.call("createRecurringJob", {
      body: { ...bodyOf(v, form), serializedArgs, jobTypeName, jobId: field(form, "jobId") },
    });
    return done(pathOf(jobId), recurringJobTexts[v.locale].created);
  },
});

/** Changes a recurring job. Arguments of a type that cannot be enqueued are entered as JSON. */
export const editRecurringPage = formPage({
  path: "recurring/{id}/edit",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readRecurringJob", { params: v.params });
    const type = (await v.api.call("listJobTypes")).find(({ name }) => name === value.jobTypeName);
    const args = type ? fieldsOf(type.argsSchema) : null;
    const values = { ...value, ...scheduleValues(v, value), ...typedOf(args, value.serializedArgs), etag };
    const f = new Fields(v, withArgErrors(sent, args), "createRecurringJob", values);
    return recurringForm(f, args, value.jobTypeName, { id: value.jobId });
  },
  async send(v, form) {
    const { params } = v;
    const type = (await v.api.call("listJobTypes")).find(({ name }) => name === field(form, "jobTypeName"));
    const body = { ...bodyOf(v, form), serializedArgs: sentArgs(v, form, type && fieldsOf(type.argsSchema)) };
    await v.api.call("updateRecurringJob", { params, body, ifMatch: field(form, "etag") });
    return done(pathOf(params.id ?? ""), recurringJobTexts[v.locale].saved);
  },
});

const bodyOf = (v: Visit, form: FormData) => ({
  ...sentSchedule(v, form),
  queue: optionalField(form, "queue"),
});

/** @param o.id the id of the recurring job; absent: it is new */
function recurringForm(
  f: Fields,
  args: ArgField[] | null,
  type: string,
  o: { id?: string; above?: Child },
): View {
  const { v } = f;
  const { create, save } = commonTexts[v.locale];
  const t = recurringJobTexts[v.locale];
  const { id, above } = o;
  const list = { href: "recurring", label: t.title };
  return formView(f, {
    title: id === undefined ? t.create : `${t.edit} ${id}`,
    crumbs: id === undefined ? [list] : [list, { href: pathOf(id), label: id }],
    submit: id === undefined ? create : save,
    above,
    inputs: [
      <input type="hidden" name="jobTypeName" value={type} />,
      id === undefined && f.text("jobId", t.id, { maxlength: 100, hint: t.idHint }),
      <ScheduleEditor f={f} legend={t.schedule} />,
      f.text("queue", jobTexts[v.locale].queue, { maxlength: 64 }),
      <ArgsFields f={f} args={args} />,
    ],
  });
}
