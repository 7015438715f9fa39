import { timeIn } from "../components/date_inputs.ts";
import { refusedInput } from "../shared/api.ts";
import { field, jsonIn, optionalField, type Visit } from "../shared/page.ts";
import { notificationTexts } from "./texts.ts";

/** A user selected in the form: id and display name. */
export interface ChosenUser {
  id: string;
  label: string;
}

export const userValue = ({ id, label }: ChosenUser): string => `${id} ${label}`;

/** The users selected in the form. */
export function chosenUsers(values: FormDataEntryValue[]): ChosenUser[] {
  return values.map(String).map((value) => {
    const [id = "", ...label] = value.split(" ");
    return { id, label: label.join(" ") };
  });
}

/** Reads recipients, one per line: `Ana Sousa <ana@example.com>` or an address alone. */
function recipientsOf(text: string): { address: string; displayName: string | null }[] {
  return text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean).map((line) => {
    const start = line.lastIndexOf("<");
    const address = start < 0 ? "" : /^<([^<>]+)>$/.exec(line.slice(start))?.[1];
    return address
      ? { address: address.trim(), displayName: line.slice(0, start).trim() || null }
      : { address: line, displayName: null };
  });
}

/**
 * The object in a JSON field; {} if the field is empty.
 * @param invalid what the viewer is told otherwise
 * @throws Refusal that names the field
 */
export function jsonField(form: FormData, name: string, invalid: string): Record<string, unknown> {
  const text = field(form, name);
  const value = text === "" ? {} : jsonIn(text);
  if (value && typeof value === "object" && !Array.isArray(value)) return { ...value };
  throw refusedInput(name, invalid);
}

/** The message and the send time from the form. @throws Refusal if a field cannot be read */
export function messageOf(v: Visit, form: FormData) {
  const scheduledAt = timeIn(v, form, "sendAt") ?? null;
  const channel = field(form, "channel");
  const hasTitle = channel !== "Sms";
  const content = field(form, "source") === "template"
    ? {
      templateSlug: optionalField(form, "templateSlug"),
      locale: optionalField(form, "locale"),
      templateData: jsonField(form, "templateData", notificationTexts[v.locale].dataInvalid),
    }
    : {
      subject: hasTitle ? optionalField(form, "subject") : undefined,
      textBody: optionalField(form, "textBody"),
      htmlBody: channel === "Email" ? optionalField(form, "htmlBody") : undefined,
    };
  const message = {
    channel,
    recipients: recipientsOf(field(form, "recipients")),
    userIds: chosenUsers(form.getAll("userIds")).map(({ id }) => id),
    ...content,
    priority: optionalField(form, "priority"),
    category: optionalField(form, "category"),
    actionUrl: channel === "InApp" || channel === "Push" ? optionalField(form, "actionUrl") : undefined,
  };
  return { message, scheduledAt };
}
