import type { Child } from "hono/jsx";
import type { Refusal } from "../shared/api.ts";
import { fieldNames } from "../shared/audit_sentence_texts.ts";
import { commonTexts, listTexts } from "../shared/common_texts.ts";
import { field, type Visit } from "../shared/page.ts";
import { Icon } from "./icons.tsx";
import { Notice } from "./notice.tsx";

/** Hidden CSRF token. Every form needs it. */
export const CsrfField = ({ v }: { v: Pick<Visit, "csrf"> }) => (
  <input type="hidden" name="csrf" value={v.csrf} />
);

interface ButtonLook {
  icon?: string;
  tone?: "plain" | "primary" | "danger";
}

interface ActionLook extends ButtonLook {
  /** Question to ask before the form is sent. */
  confirm?: string;
  /** The label of the button that agrees, such as "Delete role Billing"; absent: the label of the button. */
  confirmLabel?: string;
  /** Hidden fields of the form. */
  fields?: Record<string, string>;
}

/** A button in its own form, for one action. */
export const actionButton = (
  v: Visit,
  action: string,
  label: string,
  { icon, tone = "plain", confirm, confirmLabel, fields = {} }: ActionLook = {},
) => (
  <form method="post" action={action} class="inline" data-confirm={confirm} data-confirm-label={confirmLabel}>
    <CsrfField v={v} />
    {Object.entries(fields).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
    <button type="submit" class={`button ${tone}`}>
      {icon && <Icon name={icon} />}
      {label}
    </button>
  </form>
);

/** The button that deletes what a page shows, after the question `confirm`. */
export const deleteButton = (
  v: Visit,
  action: string,
  confirm: string,
  { label = commonTexts[v.locale].remove, ...look }: ActionLook & { label?: string } = {},
) => actionButton(v, action, label, { icon: "trash", tone: "danger", confirm, ...look });

/** Rare actions, in a menu that opens. */
export const moreMenu = (v: Visit, ...actions: Child[]) => (
  <details class="menu" data-close-outside>
    <summary class="button">
      <Icon name="more" />
      <span class="sr-only">{commonTexts[v.locale].moreActions}</span>
    </summary>
    <div class="menu-body">{actions}</div>
  </details>
);

/** A link that looks like a button. */
export const buttonLink = (href: string, label: string, { icon, tone = "plain" }: ButtonLook = {}) => (
  <a class={`button ${tone}`} href={href}>
    {icon && <Icon name={icon} />}
    {label}
  </a>
);

interface FieldProps {
  label: string;
  name: string;
  hint?: Child;
  /** Error messages of the previous submit. */
  errors?: string[] | undefined;
  required?: boolean;
}

/** The mark in the label of a required input. Screen readers say `required` of the input instead. */
export const RequiredMark = () => <span class="required" aria-hidden="true">*</span>;

function LabelledField({ label, name, hint, errors, required, children }: FieldProps & { children?: Child }) {
  return (
    <div class={`field${errors?.length ? " has-error" : ""}`}>
      <label for={`f-${name}`}>
        {label}
        {required && <RequiredMark />}
      </label>
      {children}
      {hint && <div class="hint" id={`f-${name}-hint`}>{hint}</div>}
      {errors?.length ? <div class="error" id={`f-${name}-error`}>{errors.join(" ")}</div> : null}
    </div>
  );
}

/** The attributes that the inputs of all fields have. */
const inputAttributes = ({ name, required, hint, errors }: FieldProps) => ({
  id: `f-${name}`,
  name,
  required,
  "aria-invalid": errors?.length ? "true" as const : undefined,
  "aria-describedby": [hint && `f-${name}-hint`, errors?.length && `f-${name}-error`].filter(Boolean)
    .join(" ") || undefined,
});

/** Maximum length of a search text in the API. */
export const SEARCH_LENGTH = 200;

/** A single-line input. */
export function TextField(
  props: FieldProps & {
    value?: string | number | null | undefined;
    type?:
      | "text"
      | "email"
      | "password"
      | "number"
      | "datetime-local"
      | "date"
      | "time"
      | "tel"
      | "search"
      | "url";
    placeholder?: string;
    autocomplete?: string;
    min?: number | string;
    max?: number | string;
    maxlength?: number;
    pattern?: string;
    /** Suggested values, which may have a label; any other text is allowed. */
    suggestions?: (string | Choice)[];
  },
) {
  const { value, type = "text", placeholder, autocomplete, min, max, pattern, suggestions } = props;
  const maxlength = props.maxlength ?? (type === "search" ? SEARCH_LENGTH : undefined);
  return (
    <LabelledField {...props}>
      <input
        {...inputAttributes(props)}
        type={type}
        value={value ?? ""}
        placeholder={placeholder}
        autocomplete={autocomplete ?? "off"}
        min={min}
        max={max}
        maxlength={maxlength}
        pattern={pattern}
        list={suggestions && `f-${props.name}-list`}
      />
      {suggestions && (
        <datalist id={`f-${props.name}-list`}>
          {suggestions.map((each) =>
            typeof each === "string"
              ? <option value={each} />
              : <option value={each.value} label={each.label} />
          )}
        </datalist>
      )}
    </LabelledField>
  );
}

/** A multi-line input. */
export const TextArea = (
  props: FieldProps & { value?: string | null | undefined; rows?: number; code?: boolean },
) => (
  <LabelledField {...props}>
    <textarea
      {...inputAttributes(props)}
      rows={props.rows ?? 5}
      class={props.code ? "code" : undefined}
      spellcheck={!props.code}
    >
      {props.value ?? ""}
    </textarea>
  </LabelledField>
);

/** An input that chooses a file. @param accept file types that the browser offers */
export const FileField = (props: FieldProps & { accept?: string }) => (
  <LabelledField {...props} required>
    <input {...inputAttributes(props)} type="file" accept={props.accept} required />
  </LabelledField>
);

export interface Choice {
  value: string;
  label: string;
}

/** A drop-down list. `any` adds an empty choice with that label. */
export function SelectField(
  props: FieldProps & {
    value?: string | null | undefined;
    choices: Choice[];
    any?: string;
    autofocus?: boolean;
  },
) {
  return (
    <LabelledField {...props}>
      <select {...inputAttributes(props)} autofocus={props.autofocus}>
        {props.any !== undefined && <option value="">{props.any}</option>}
        {props.choices.map(({ value, label }) => (
          <option value={value} selected={value === props.value}>{label}</option>
        ))}
      </select>
    </LabelledField>
  );
}

/** A checkbox. Sends `value` ("true" by default) when ticked. */
export const CheckField = ({ label, name, checked, hint, disabled, value = "true", id = `f-${name}` }: {
  label: Child;
  name: string;
  checked?: boolean | undefined;
  hint?: Child;
  disabled?: boolean;
  value?: string;
  id?: string;
}) => (
  <div class="field check">
    <input
      id={id}
      type="checkbox"
      name={name}
      value={value}
      checked={checked}
      disabled={disabled}
      aria-describedby={hint ? `${id}-hint` : undefined}
    />
    <label for={id}>{label}</label>
    {hint && <div class="hint" id={`${id}-hint`}>{hint}</div>}
  </div>
);

/** The error above a form that is shown again. Messages of `known` fields are left out: the fields show them. */
export function FormRefusal({ v, refusal, known }: {
  v: Pick<Visit, "locale">;
  refusal: Refusal | null;
  known: string[];
}) {
  if (!refusal) return null;
  const labels: Record<string, string> = fieldNames[v.locale];
  const named = (name: string) => Object.hasOwn(labels, name) ? labels[name] : name;
  const { text, detail, fields, code } = refusal;
  const others = Object.entries(fields).filter(([name]) => !known.includes(name));
  return (
    <Notice tone="bad" title={text}>
      {detail !== text && Object.keys(fields).length === 0 && <p lang="en">{detail}</p>}
      {others.length > 0 && (
        <ul>
          {others.flatMap(([name, messages]) =>
            messages.map((message) => <li>{name ? `${named(name)}: ${message}` : message}</li>)
          )}
        </ul>
      )}
      {code && <code>{code}</code>}
    </Notice>
  );
}

/**
 * Filters of a list. A change replaces the element with the id `target` and the address, without a reload. Without
 * JavaScript the button submits the form.
 */
export function FilterBar({ v, action, target, children }: {
  v: Visit;
  action: string;
  target: string;
  children?: Child;
}) {
  const t = commonTexts[v.locale];
  return (
    <form
      class="filters"
      method="get"
      action={action}
      role="search"
      hx-get={action}
      hx-target={`#${target}`}
      hx-select={`#${target}`}
      hx-swap="outerHTML"
      hx-push-url="true"
      hx-trigger="submit, change, input delay:350ms from:find input[type=search]"
    >
      {v.query.has("tenantId") && (
        <input type="hidden" name="tenantId" value={v.query.get("tenantId") ?? ""} />
      )}
      {children}
      <div class="filter-buttons">
        <button type="submit" class="button no-script">{t.filter}</button>
        <a class="button quiet" href={action}>{t.clear}</a>
      </div>
    </form>
  );
}

/** Above this, the number of rows that an action changes must be typed. */
const UNTYPED = 100;

/** The input for the number of rows that an action changes; nothing for a small number. */
export const TypedCount = ({ v, count }: { v: Visit; count: number }) =>
  count > UNTYPED
    ? <TextField label={listTexts[v.locale].typeCount(count)} name="typed" pattern={String(count)} required />
    : null;

/** True if the form has the number, or the number is small. */
export const isCountTyped = (form: FormData, count: number): boolean =>
  count <= UNTYPED || field(form, "typed") === String(count);
