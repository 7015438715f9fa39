import type { Child } from "hono/jsx";
import { z } from "zod";
import type { Sent } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Endpoint } from "../../shared/endpoint.ts";
import { endpointOf, type OperationId, searchOf } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import {
  buttonLink,
  CheckField,
  type Choice,
  CsrfField,
  FormRefusal,
  SelectField,
  TextArea,
  TextField,
} from "./forms.tsx";
import { Card } from "./notice.tsx";

type More<F extends (props: never) => unknown> = Partial<Omit<Parameters<F>[0], "label" | "name">>;

/**
 * The inputs of a form. An input has the value that was typed if the API refused the form, else the value of `values`. Its
 * limits and its required mark come from the body of the operation that receives the form.
 */
export class Fields {
  /** Names of the inputs, which show their own errors. */
  readonly known: string[] = [];
  private readonly form: FormData | null;
  private readonly errors: Record<string, string[]>;

  constructor(
    readonly v: Visit,
    readonly sent: Sent | null,
    readonly operation: OperationId | Endpoint | null,
    private readonly values: Record<string, unknown> = {},
  ) {
    this.form = sent?.form ?? null;
    this.errors = sent?.refusal?.fields ?? {};
  }

  /** The value of an input as text. */
  value(name: string): string {
    const value = this.form ? this.form.get(name) : this.values[name];
    return typeof value === "object" || value === undefined ? "" : String(value);
  }

  /** The ticked values of the checkboxes `name`. */
  ticked(name: string): Set<string> {
    const values = this.form ? this.form.getAll(name).map(String) : this.values[name];
    return new Set(Array.isArray(values) ? values : []);
  }

  /** True if the checkbox `name` is ticked. */
  isOn = (name: string): boolean => this.form ? this.form.get(name) === "true" : this.values[name] === true;

  /** The errors of an input. */
  errorsOf(name: string): string[] | undefined {
    this.known.push(name);
    return this.errors[name];
  }

  /** The ETag that was read with the resource. After a 412 it is the current one: sending again then overwrites. */
  etag = (): string | undefined =>
    this.form && this.sent?.refusal?.code !== "PRECONDITION_FAILED"
      ? this.form.get("etag")?.toString()
      : this.values.etag?.toString();

  /** A single-line input. */
  text(name: string, label: string, more: More<typeof TextField> = {}) {
    const value = more.type === "password" ? "" : this.value(name);
    return <TextField {...this.of(name)} label={label} value={value} {...more} />;
  }

  /** A multi-line input. */
  area(name: string, label: string, more: More<typeof TextArea> = {}) {
    const { maxlength: _, ...rest } = this.of(name);
    return <TextArea {...rest} label={label} value={this.value(name)} {...more} />;
  }

  /** A drop-down list. */
  select(name: string, label: string, choices: Choice[], more: More<typeof SelectField> = {}) {
    const value = this.value(name);
    const isOffered = choices.some((choice) => choice.value === value);
    // The API names the codes of its choices, which the list does not show.
    const errors = this.errorsOf(name) && !isOffered
      ? [commonTexts[this.v.locale].choose]
      : this.errorsOf(name);
    const own = { name, label, choices, errors, value };
    return <SelectField {...own} {...more} />;
  }

  /** A checkbox. */
  check(name: string, label: Child, hint?: Child) {
    return <CheckField name={name} label={label} checked={this.isOn(name)} hint={hint} />;
  }

  /** Several checkboxes with one name, each with a text below its value. */
  choices(name: string, choices: { value: string; label?: Child; hint?: Child }[]) {
    const ticked = this.ticked(name);
    return choices.map(({ value, label, hint }) => (
      <label class="row-choice">
        <input type="checkbox" name={name} value={value} checked={ticked.has(value)} />
        <span class="break">
          {label ?? <code>{value}</code>}
          {hint && <span class="hint choice-text">{hint}</span>}
        </span>
      </label>
    ));
  }

  private of(name: string) {
    return { name, errors: this.errorsOf(name), ...this.operation ? rulesOf(this.operation)[name] : {} };
  }
}

/**
 * A page that is a form: on a card, or of cards if it is `stacked`. "Cancel" leads to the last page of the breadcrumb, unless
 * `back` is null.
 */
export function formView(
  fields: Fields,
  { title, scope, scripts, crumbs, actions, cardTitle, above, inputs, back, ...form }:
    & Pick<View, "title" | "scope" | "scripts" | "crumbs" | "actions">
    & Omit<Parameters<typeof Form>[0], "fields" | "children">
    & {
      cardTitle?: string;
      /** Shown on the card above the form. */
      above?: Child;
      inputs: Child;
    },
): View {
  const to = back === undefined ? (crumbs ?? crumbsTo(fields.v)).at(-1)?.href : back;
  const shown = <Form fields={fields} back={to} {...form}>{inputs}</Form>;
  const body = form.stacked ? shown : <Card title={cardTitle}>{above}{shown}</Card>;
  return { title, scope, scripts, crumbs, actions, body };
}

/** A form with its errors and buttons. `fields` made its inputs. */
export function Form({ fields, action, submit, buttons, back, intro, confirm, stacked, readOnly, children }: {
  fields: Fields;
  /** The address to which the form is sent; absent: the address of the page, without its query. */
  action?: string | undefined;
  /** Label of the button; absent: "Save". */
  submit?: string | undefined;
  /** Buttons instead of the one with `submit`. */
  buttons?: Child;
  /** The address of "Cancel"; absent: there is no such button. */
  back?: string | null | undefined;
  intro?: string | null;
  /** Question to ask before the form is sent. */
  confirm?: string;
  /** True if the form consists of cards. */
  stacked?: boolean;
  /** True if the viewer may not send the form. */
  readOnly?: boolean;
  children?: Child;
}) {
  const { v } = fields;
  const t = commonTexts[v.locale];
  const etag = fields.etag();
  return (
    <form
      class={stacked ? "stack" : "form"}
      method="post"
      action={action ?? `${v.address.split("?")[0]}${searchOf({ tenantId: v.query.get("tenantId") })}`}
      data-confirm={confirm}
    >
      <CsrfField v={v} />
      {etag !== undefined && <input type="hidden" name="etag" value={etag} />}
      {intro && <p class="muted">{intro}</p>}
      <FormRefusal v={v} refusal={fields.sent?.refusal ?? null} known={fields.known} />
      {readOnly ? <fieldset class="plain" disabled>{children}</fieldset> : children}
      {!readOnly && (
        <div class="row">
          {buttons ?? <button type="submit" class="button primary">{submit ?? t.save}</button>}
          {back && buttonLink(back, t.cancel)}
        </div>
      )}
    </form>
  );
}

/** A form that is folded to its label. It is open after it was refused. */
export const FoldedForm = ({ label, ...form }: Parameters<typeof Form>[0] & { label: string }) => (
  <details open={form.fields.sent !== null}>
    <summary>{label}</summary>
    <Form {...form} />
  </details>
);

interface Rules {
  required?: true;
  maxlength?: number;
}

const rules = new WeakMap<Endpoint, Record<string, Rules>>();

/** The requirements of an operation's body for its fields. */
function rulesOf(operation: OperationId | Endpoint): Record<string, Rules> {
  const endpoint = typeof operation === "string" ? endpointOf(operation) : operation;
  const known = rules.get(endpoint);
  if (known) return known;
  const { body, content } = endpoint;
  const schema = z.toJSONSchema(body ?? content?.json ?? z.object({}), {
    io: "input",
    unrepresentable: "any",
  });
  const object = schema.$ref ? Object.values(schema.$defs ?? {})[0] ?? {} : schema;
  const found = Object.fromEntries(
    Object.entries(object.properties ?? {}).map((
      [name, field],
    ) => [name, rulesIn(field, object.required?.includes(name))]),
  );
  rules.set(endpoint, found);
  return found;
}

/** An input may be empty unless its field is required and its text has a form or a smallest length. */
function rulesIn(field: z.core.JSONSchema._JSONSchema, isRequired = false): Rules {
  if (typeof field === "boolean") return {};
  const text = field.anyOf?.find((option) => typeof option === "object" && option.type === "string") ?? field;
  if (typeof text === "boolean" || text.type !== "string") return {};
  const { maxLength, minLength, pattern, format } = text;
  return {
    ...isRequired && (minLength || pattern || format) ? { required: true } : {},
    ...maxLength ? { maxlength: maxLength } : {},
  };
}
