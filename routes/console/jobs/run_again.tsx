import { Fields, formView } from "../components/fields.tsx";
import { done, formPage } from "../shared/actions.ts";
import type { Visit } from "../shared/page.ts";
import { ArgsFields, sentArgs, withArgErrors } from "./args_fields.tsx";
import { type ArgField, fieldsOf, typedOf } from "./args_form.ts";
import { jobTexts } from "./texts.ts";

/** Runs an ended job again with other arguments. The form has an input per argument, filled with those of the job. */
export const runAgainPage = formPage({
  path: "jobs/{id}/run-again",
  async show(v, sent) {
    const t = jobTexts[v.locale];
    const { job, args } = await readArgsOf(v);
    const here = `jobs/${job.id}`;
    const f = new Fields(v, withArgErrors(sent, args), "retryJob", typedOf(args, job.serializedArgs));
    return formView(f, {
      title: t.runChanged,
      crumbs: [{ href: "jobs", label: t.jobs }, { href: here, label: job.jobTypeName }],
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
  const [job, types] = await Promise.all([
    v.api.call("readJob", { params: v.params }),
    v.api.call("listJobTypes"),
  ]);
  const type = types.find(({ name }) => name === job.jobTypeName);
  const args = type ? fieldsOf(type.argsSchema) : null;
  return { job, args: args && holdsAll(args, job.serializedArgs) ? args : null };
}

function holdsAll(fields: ArgField[], serializedArgs: string): boolean {
  const args: unknown = JSON.parse(serializedArgs);
  if (typeof args !== "object" || args === null || Array.isArray(args)) return false;
  return Object.keys(args).every((name) => fields.some((field) => field.name === name));
}
