import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Tx } from "./postgres.ts";

const FOLDER = join(import.meta.dirname ?? ".", "mails");

/** A built-in mail in one language, as `mails/mails.json` lists it. Its texts are in `SLUG.LOCALE.html` and `.txt`. */
interface Mail {
  id: string;
  slug: string;
  locale: string;
  name: string;
  subject: string;
  /** Names, separated by commas. */
  requiredVariables: string;
  html: string;
  text: string;
}

/** The built-in mails, and a hash of all that they say. */
export async function readMails(): Promise<{ mails: Mail[]; sha256: string }> {
  const read = async (name: string) => (await Deno.readTextFile(join(FOLDER, name))).replace(/\n$/, "");
  const listed: Omit<Mail, "html" | "text">[] = JSON.parse(await read("mails.json"));
  const mails = await Promise.all(listed.map(async (mail) => ({
    ...mail,
    html: await read(`${mail.slug}.${mail.locale}.html`),
    text: await read(`${mail.slug}.${mail.locale}.txt`),
  })));
  return { mails, sha256: createHash("sha256").update(JSON.stringify(mails)).digest("hex") };
}

/** Writes the built-in mails. One that says something else than before gets a new version; the versions before it stay. */
export async function writeMails(tx: Tx, mails: Mail[]): Promise<void> {
  const column = (name: keyof Mail) => mails.map((mail) => mail[name]);
  await tx`
    insert into notification_templates as t (id, slug, locale, name, subject_template, required_variables,
      html_body_template, text_body_template)
    select * from unnest(${column("id")}::uuid[], ${column("slug")}::text[], ${column("locale")}::text[],
      ${column("name")}::text[], ${column("subject")}::text[], ${column("requiredVariables")}::text[],
      ${column("html")}::text[], ${column("text")}::text[])
    on conflict (id) do update set name = excluded.name, subject_template = excluded.subject_template,
      required_variables = excluded.required_variables, html_body_template = excluded.html_body_template,
      text_body_template = excluded.text_body_template, version = t.version + 1, updated_at = now()
    where (t.name, t.subject_template, t.required_variables, t.html_body_template, t.text_body_template)
      is distinct from (excluded.name, excluded.subject_template, excluded.required_variables,
        excluded.html_body_template, excluded.text_body_template)`;
}
