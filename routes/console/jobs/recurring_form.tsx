import { CsrfField, FormButtons, FormRefusal, TextField } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { ArgsFields } from "./args_fields.tsx";
import { argErrors, type ArgField, fieldsOf, readArgs, type Typed, typedOf } from "./args_form.ts";
import { type JobTypeItem, TypeChoice } from "./enqueue.tsx";
import { apiPathOf, pathOf, type Recurring } from "./recurring.tsx";
import { recurringJobTexts } from "./recurring_texts.ts";
import { jobTexts } from "./texts.ts";

const FIELDS = ["jobId", "cronExpression", "timeZoneId", "queue"] as const;
const ZONES = Intl.supportedValuesOf("timeZone");

interface Shown {
  jobTypeName: string;
  fields: ArgField[] | null;
  values: Partial<Record<typeof FIELDS[number], string>>;
  args: Typed;
  errors: Record<string, string[]>;
  refusal: Refusal | null;
  /** ETag of the recurring job when the form was opened; null for a new one. */
  etag: string | null;
}

export async function newRecurringPage(v: Visit): Promise<View> {
  const types = await v.api.get<JobTypeItem[]>("jobs/types");
  const type = types.find(({ name }) => name === v.query.get("jobTypeName")) ?? types[0];
  if (!type) {
    return { title: recurringJobTexts[v.locale].create, body: <Empty title={jobTexts[v.locale].noTypes} /> };
  }
  const choice = <TypeChoice v={v} types={types} type={type} action="recurring/new/form" />;
  return formView(v, {
    jobTypeName: type.name,
    fields: fieldsOf(type.argsSchema),
    values: { timeZoneId: v.timeZone, queue: "default" },
    args: {},
    errors: {},
    refusal: null,
    etag: null,
  }, choice);
}

export async function createRecurring(v: Visit, form: FormData): Promise<Outcome> {
  const jobTypeName = field(form, "jobTypeName");
  const types = await v.api.get<JobTypeItem[]>("jobs/types");
  const type = types.find(({ name }) => name === jobTypeName);
  const choice = type && <TypeChoice v={v} types={types} type={type} action="recurring/new/form" />;
  return await save(v, form, { jobTypeName, fields: type ? fieldsOf(type.argsSchema) : null, etag: null }, {
    send: async (body) => {
      const { jobId } = await v.api.send<Recurring>("POST", "recurring-jobs", {
        ...body,
        jobId: field(form, "jobId"),
        jobTypeName,
      });
      return { goTo: pathOf(jobId), flash: { tone: "ok", text: recurringJobTexts[v.locale].created } };
    },
    choice,
  });
}

export async function editRecurringPage(v: Visit): Promise<View> {
  const answer = await v.api.request("GET", `/api/v1/${apiPathOf(v.params.id ?? "")}`);
  const recurring: Recurring = await answer.json();
  const fields = await fieldsOfType(v, recurring.jobTypeName);
  return formView(v, {
    jobTypeName: recurring.jobTypeName,
    fields,
    values: recurring,
    args: typedOf(fields, recurring.serializedArgs),
    errors: {},
    refusal: null,
    etag: answer.headers.get("etag"),
  });
}

export async function changeRecurring(v: Visit, form: FormData): Promise<Outcome> {
  const id = v.params.id ?? "";
  const jobTypeName = field(form, "jobTypeName");
  const etag = field(form, "etag");
  return await save(v, form, { jobTypeName, fields: await fieldsOfType(v, jobTypeName), etag }, {
    send: async (body) => {
      await v.api.send("PUT", apiPathOf(id), body, { "if-match": etag });
      return { goTo: pathOf(id), flash: { tone: "ok", text: recurringJobTexts[v.locale].saved } };
    },
  });
}

/** Argument fields of a job type. Null if the type cannot be enqueued: its arguments are then entered as JSON. */
async function fieldsOfType(v: Visit, name: string): Promise<ArgField[] | null> {
  const types = await v.api.get<JobTypeItem[]>("jobs/types");
  const type = types.find((type) => type.name === name);
  return type ? fieldsOf(type.argsSchema) : null;
}

/** Sends the form, or shows it again with the errors. */
async function save(
  v: Visit,
  form: FormData,
  o: Pick<Shown, "jobTypeName" | "fields" | "etag">,
  { send, choice }: { send(body: Record<string, unknown>): Promise<Outcome>; choice?: View["body"] },
): Promise<Outcome> {
  const { serializedArgs, typed, errors } = readArgs(o.fields, form, jobTexts[v.locale]);
  const values = Object.fromEntries(FIELDS.map((name) => [name, field(form, name)]));
  const again = (errors: Record<string, string[]>, refusal: Refusal | null): View => ({
    ...formView(v, { ...o, values, args: typed, errors, refusal }, choice),
    status: refusal?.status ?? 400,
  });
  if (Object.keys(errors).length > 0) return again(errors, null);
  try {
    return await send({
      cronExpression: field(form, "cronExpression"),
      timeZoneId: optionalField(form, "timeZoneId"),
      queue: optionalField(form, "queue"),
      serializedArgs,
    });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 404) throw refusal;
    const { serializedArgs: messages = [], ...others } = refusal.fields;
    return again({ ...others, ...argErrors(o.fields, messages) }, refusal);
  }
}

function formView(v: Visit, shown: Shown, choice?: View["body"]): View {
  const { jobTypeName, fields, values, args, errors, refusal, etag } = shown;
  const t = recurringJobTexts[v.locale];
  const id = v.params.id ?? "";
  const isNew = etag === null;
  return {
    title: isNew ? t.create : `${t.edit} ${id}`,
    crumbs: [
      { href: "recurring", label: t.title },
      ...isNew ? [] : [{ href: pathOf(id), label: id }],
    ],
    body: (
      <Card>
        {choice}
        <form method="post" action={isNew ? "recurring/new/form" : `${pathOf(id)}/edit`} class="form">
          <CsrfField v={v} />
          <input type="hidden" name="jobTypeName" value={jobTypeName} />
          {!isNew && <input type="hidden" name="etag" value={etag} />}
          <FormRefusal refusal={refusal} known={[...FIELDS, "serializedArgs"]} />
          {isNew && (
            <TextField
              label={t.id}
              name="jobId"
              value={values.jobId}
              required
              maxlength={100}
              hint={t.idHint}
              errors={errors.jobId}
            />
          )}
          <div class="pair">
            <TextField
              label={t.cron}
              name="cronExpression"
              value={values.cronExpression}
              required
              maxlength={200}
              hint={t.cronHint}
              errors={errors.cronExpression}
            />
            <TextField
              label={t.zone}
              name="timeZoneId"
              value={values.timeZoneId}
              list="zones"
              required
              maxlength={100}
              hint={t.zoneHint}
              errors={errors.timeZoneId}
            />
          </div>
          <datalist id="zones">{ZONES.map((zone) => <option value={zone} />)}</datalist>
          <TextField
            label={jobTexts[v.locale].queue}
            name="queue"
            value={values.queue}
            maxlength={64}
            errors={errors.queue}
          />
          <ArgsFields v={v} fields={fields} typed={args} errors={errors} />
          <FormButtons
            v={v}
            label={isNew ? commonTexts[v.locale].create : commonTexts[v.locale].save}
            back={isNew ? "recurring" : pathOf(id)}
          />
        </form>
      </Card>
    ),
  };
}
