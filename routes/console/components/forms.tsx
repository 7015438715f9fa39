import type { Child } from "hono/jsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Refusal } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";
import { Icon } from "./icons.tsx";
import { Notice } from "./notice.tsx";

/** Proof that a form came from this console; every form needs it. */
export const CsrfField = ({ v }: { v: Pick<Visit, "csrf"> }) => (
  <input type="hidden" name="csrf" value={v.csrf} />
);

/**
 * A button that does one thing, by a form of its own.
 * @param confirm asks this first.
 * @param fields sent along.
 */
export function ActionButton({ v, action, label, icon, tone = "plain", confirm, fields = {} }: {
  v: Visit;
  action: string;
  label: string;
  icon?: string;
  tone?: "plain" | "primary" | "danger";
  confirm?: string;
  fields?: Record<string, string>;
}) {
  return (
    <form method="post" action={action} class="inline" data-confirm={confirm}>
      <CsrfField v={v} />
      {Object.entries(fields).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      <button type="submit" class={`button ${tone}`}>
        {icon && <Icon name={icon} />}
        {label}
      </button>
    </form>
  );
}

/** A link that looks like a button. */
export function ButtonLink(
  { href, label, icon, tone = "plain" }: {
    href: string;
    label: string;
    icon?: string;
    tone?: "plain" | "primary";
  },
) {
  return (
    <a class={`button ${tone}`} href={href}>
      {icon && <Icon name={icon} />}
      {label}
    </a>
  );
}

/** The end of a form: do it, or go back. */
export function FormButtons({ v, label, back }: { v: Visit; label: string; back: string }) {
  return (
    <div class="row">
      <button type="submit" class="button primary">{label}</button>
      <ButtonLink href={back} label={commonTexts[v.locale].cancel} />
    </div>
  );
}

interface FieldProps {
  label: string;
  name: string;
  hint?: Child;
  /** Messages of the last try. */
  errors?: string[] | undefined;
  required?: boolean;
}

function Labelled({ label, name, hint, errors, required, children }: FieldProps & { children?: Child }) {
  return (
    <div class={`field${errors?.length ? " has-error" : ""}`}>
      <label for={`f-${name}`}>
        {label}
        {required && <span class="required" aria-hidden="true">*</span>}
      </label>
      {children}
      {hint && <div class="hint" id={`f-${name}-hint`}>{hint}</div>}
      {errors?.length ? <div class="error" id={`f-${name}-error`}>{errors.join(" ")}</div> : null}
    </div>
  );
}

const describedBy = ({ name, hint, errors }: FieldProps): string | undefined =>
  [hint && `f-${name}-hint`, errors?.length && `f-${name}-error`].filter(Boolean).join(" ") || undefined;

/** What the API takes at most as a search. */
export const SEARCH_LENGTH = 200;

/** One line of text. */
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
    list?: string;
  },
) {
  const { value, type = "text", placeholder, autocomplete, min, max, pattern, list } = props;
  const maxlength = props.maxlength ?? (type === "search" ? SEARCH_LENGTH : undefined);
  return (
    <Labelled {...props}>
      <input
        id={`f-${props.name}`}
        name={props.name}
        type={type}
        value={value ?? ""}
        placeholder={placeholder}
        autocomplete={autocomplete ?? "off"}
        min={min}
        max={max}
        maxlength={maxlength}
        pattern={pattern}
        list={list}
        required={props.required}
        aria-invalid={props.errors?.length ? "true" : undefined}
        aria-describedby={describedBy(props)}
      />
    </Labelled>
  );
}

/** Several lines of text. */
export function TextArea(
  props: FieldProps & { value?: string | null | undefined; rows?: number; code?: boolean; preview?: string },
) {
  return (
    <Labelled {...props}>
      <textarea
        id={`f-${props.name}`}
        name={props.name}
        rows={props.rows ?? 5}
        class={props.code ? "code" : undefined}
        spellcheck={!props.code}
        required={props.required}
        aria-invalid={props.errors?.length ? "true" : undefined}
        aria-describedby={describedBy(props)}
      >
        {props.value ?? ""}
      </textarea>
    </Labelled>
  );
}

export interface Choice {
  value: string;
  label: string;
}

/** One of several. `any` adds an empty choice of that name. */
export function SelectField(
  props: FieldProps & { value?: string | null | undefined; choices: Choice[]; any?: string },
) {
  return (
    <Labelled {...props}>
      <select
        id={`f-${props.name}`}
        name={props.name}
        required={props.required}
        aria-invalid={props.errors?.length ? "true" : undefined}
        aria-describedby={describedBy(props)}
      >
        {props.any !== undefined && <option value="">{props.any}</option>}
        {props.choices.map(({ value, label }) => (
          <option value={value} selected={value === props.value}>{label}</option>
        ))}
      </select>
    </Labelled>
  );
}

/** Yes or no. Sends `true` when ticked. */
export function CheckField(
  { label, name, checked, hint, value = "true", id }: {
    label: Child;
    name: string;
    checked?: boolean | undefined;
    hint?: Child;
    value?: string;
    id?: string;
  },
) {
  return (
    <div class="field check">
      <input id={id ?? `f-${name}`} type="checkbox" name={name} value={value} checked={checked} />
      <label for={id ?? `f-${name}`}>{label}</label>
      {hint && <div class="hint">{hint}</div>}
    </div>
  );
}

/** What was refused, above a form that is shown again. Messages of `known` fields stand beside those. */
export function FormRefusal({ refusal, known }: { refusal: Refusal | null; known: string[] }) {
  if (!refusal) return null;
  const others = Object.entries(refusal.fields).filter(([name]) => !known.includes(name));
  return (
    <Notice tone="bad" title={refusal.detail}>
      {others.length > 0 && (
        <ul>
          {others.flatMap(([name, messages]) =>
            messages.map((message) => <li>{name ? `${name}: ${message}` : message}</li>)
          )}
        </ul>
      )}
      {refusal.code && <code>{refusal.code}</code>}
    </Notice>
  );
}

/**
 * Filters of a list. A change replaces the part of the page called `target` and the address, without a reload; without
 * a script the button does.
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
      {children}
      <div class="filter-buttons">
        <button type="submit" class="button no-script">{t.filter}</button>
        <a class="button quiet" href={action}>{t.clear}</a>
      </div>
    </form>
  );
}
