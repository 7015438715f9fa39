import { instantOf } from "../components/date_inputs.ts";
import { Refusal } from "../shared/api.ts";
import { type ConsoleSection, field, optionalField, type Outcome, type Visit } from "../shared/page.ts";
import { filePage } from "./detail.tsx";
import { filesPage } from "./list.tsx";
import { refusalText } from "./model.tsx";
import { scannerPage } from "./scanner.tsx";
import { complete, reserve, uploadPage } from "./upload.tsx";
import { fileTexts } from "./texts.ts";

const permissions = ["read:files"];
const uploading = ["upload:files"];

/** Forms of the file's page that were shown again are at their own address; a reload of it leads back. */
const toFile = (v: Visit): Outcome => ({ goTo: `files/${v.params.id}` });

/** The file registry: what there is, how it was examined, what holds it, and uploads. */
export const filesSection: ConsoleSection = {
  title: { en: fileTexts.en.files, pt: fileTexts.pt.files },
  nav: [
    { path: "files", label: { en: fileTexts.en.files, pt: fileTexts.pt.files }, icon: "files", permissions },
  ],
  pages: [
    { path: "files", permissions, get: filesPage },
    { path: "files/scanner", permissions, get: scannerPage },
    { path: "files/upload", permissions: uploading, get: uploadPage, post: reserve },
    { path: "files/{id}", permissions, get: (v) => filePage(v) },
    { path: "files/{id}/download", permissions, get: download },
    { path: "files/{id}/complete", permissions: uploading, post: complete },
    { path: "files/{id}/confirm", permissions: uploading, post: confirm },
    { path: "files/{id}/references/{referenceId}/release", permissions: uploading, post: release },
    { path: "files/{id}/retention", permissions: ["retain:files"], get: toFile, post: changeRetention },
    { path: "files/{id}/purge", permissions: ["purge:files"], get: toFile, post: purge },
  ],
};

/** Leads straight to the content by a URL made for this one click. */
async function download(v: Visit): Promise<Outcome> {
  try {
    const { url } = await v.api.get<{ url: string }>(`files/${v.params.id}/download-url`);
    return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store" } });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 409) throw refusal;
    const text = refusalText(v.locale, refusal.code) ?? refusal.detail;
    return { goTo: `files/${v.params.id}`, flash: { tone: "bad", text } };
  }
}

async function confirm(v: Visit): Promise<Outcome> {
  const goTo = `files/${v.params.id}`;
  try {
    await v.api.send("POST", `files/${v.params.id}/complete`);
    return { goTo, flash: { tone: "ok", text: fileTexts[v.locale].confirmDone } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
    return { goTo, flash: { tone: "bad", text: refusalText(v.locale, refusal.code) ?? refusal.detail } };
  }
}

async function release(v: Visit): Promise<Outcome> {
  const { id, referenceId } = v.params;
  await v.api.send("DELETE", `files/${id}/references/${referenceId}`);
  return { goTo: `files/${id}`, flash: { tone: "ok", text: fileTexts[v.locale].released } };
}

async function changeRetention(v: Visit, form: FormData): Promise<Outcome> {
  const version = field(form, "version");
  const retainUntil = field(form, "retainUntil");
  // An input holds whole minutes: untouched, it would ask for an instant a little before the one promised.
  const isTouched = retainUntil !== field(form, "keptUntil");
  try {
    await v.api.send("PUT", `files/${v.params.id}/retention`, {
      retentionClass: field(form, "retentionClass"),
      retainUntil: isTouched ? instantOf(v, retainUntil) ?? null : undefined,
      legalHold: form.get("legalHold") === "true",
      reason: optionalField(form, "reason"),
    }, version ? { "if-match": version } : {});
    return { goTo: `files/${v.params.id}`, flash: { tone: "ok", text: fileTexts[v.locale].retentionSaved } };
  } catch (refusal) {
    if (!isExplained(refusal)) throw refusal;
    return await filePage(v, { retention: refusal, values: form });
  }
}

async function purge(v: Visit, form: FormData): Promise<Outcome> {
  try {
    await v.api.send("POST", `files/${v.params.id}/purge`, { reason: field(form, "purgeReason") });
    return { goTo: `files/${v.params.id}`, flash: { tone: "ok", text: fileTexts[v.locale].purged } };
  } catch (refusal) {
    if (!isExplained(refusal)) throw refusal;
    return await filePage(v, { purge: refusal, values: form });
  }
}

/** A refusal the form is shown again with; without the file there is no form to show. */
const isExplained = (refusal: unknown): refusal is Refusal =>
  refusal instanceof Refusal && [400, 403, 409, 412, 422].includes(refusal.status);
