import { instantOf } from "../components/date_inputs.ts";
import { Refusal } from "../shared/api.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
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

/** The object in a JSON field; {} if the field is empty. @throws Refusal that names the field */
export function jsonField(v: Visit, form: FormData, name: string): Record<string, unknown> {
  const text = field(form, name);
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // not JSON: refused below
  }
  throw invalidField(name, notificationTexts[v.locale].dataInvalid);
}

const invalidField = (name: string, message: string): Refusal =>
  new Refusal({ status: 400, detail: message, errors: { [name]: [message] } });

/** The message and the send time from the form. @throws Refusal if a field cannot be read */
export function messageOf(v: Visit, form: FormData) {
  const sendAt = field(form, "sendAt");
  const scheduledAt = sendAt === "" ? null : instantOf(v, sendAt);
  if (scheduledAt === undefined) throw invalidField("sendAt", notificationTexts[v.locale].badTime);
  const channel = field(form, "channel");
  const hasTitle = channel !== "Sms";
  const content = field(form, "source") === "template"
    ? {
      templateSlug: optionalField(form, "templateSlug"),
      locale: optionalField(form, "locale"),
      templateData: jsonField(v, form, "templateData"),
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
