import { instantOf } from "../components/date_inputs.ts";
import { Refusal } from "../shared/api.ts";
import { type ConsoleSection, field, optionalField, type Outcome, type Visit } from "../shared/page.ts";
import { filePage } from "./detail.tsx";
import { filesPage } from "./list.tsx";
import { scannerPage } from "./scanner.tsx";
import { complete, reserve, uploadPage } from "./upload.tsx";
import { fileTexts } from "./texts.ts";

const permissions = ["read:files"];
const uploading = ["upload:files"];

/** A form shown again with errors has its own address. A GET of that address, such as a reload, leads to the file. */
const toFile = (v: Visit): Outcome => ({ goTo: `files/${v.params.id}` });

/** Files, their scans, references and retention, and uploads. */
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

/** Redirects to a signed download URL. */
async function download(v: Visit): Promise<Outcome> {
  try {
    const { url } = await v.api.get<{ url: string }>(`files/${v.params.id}/download-url`);
    return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store" } });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 409) throw refusal;
    return { goTo: `files/${v.params.id}`, flash: refusal.flash };
  }
}

async function confirm(v: Visit): Promise<Outcome> {
  const goTo = `files/${v.params.id}`;
  try {
    await v.api.send("POST", `files/${v.params.id}/complete`);
    return { goTo, flash: { tone: "ok", text: fileTexts[v.locale].uploadConfirmed } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
    return { goTo, flash: refusal.flash };
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
  // The input has only whole minutes. Sent back unchanged, it would shorten the retention by seconds.
  const isChanged = retainUntil !== field(form, "keptUntil");
  try {
    await v.api.send("PUT", `files/${v.params.id}/retention`, {
      retentionClass: field(form, "retentionClass"),
      retainUntil: isChanged ? instantOf(v, retainUntil) ?? null : undefined,
      legalHold: form.get("legalHold") === "true",
      reason: optionalField(form, "reason"),
    }, version ? { "if-match": version } : {});
    return { goTo: `files/${v.params.id}`, flash: { tone: "ok", text: fileTexts[v.locale].retentionSaved } };
  } catch (refusal) {
    if (!isShownOnForm(refusal)) throw refusal;
    return await filePage(v, { retention: refusal, values: form });
  }
}

async function purge(v: Visit, form: FormData): Promise<Outcome> {
  try {
    await v.api.send("POST", `files/${v.params.id}/purge`, { reason: field(form, "purgeReason") });
    return { goTo: `files/${v.params.id}`, flash: { tone: "ok", text: fileTexts[v.locale].purged } };
  } catch (refusal) {
    if (!isShownOnForm(refusal)) throw refusal;
    return await filePage(v, { purge: refusal, values: form });
  }
}

/** Whether the form is shown again with the error. After a 404 there is no file, so no form. */
const isShownOnForm = (refusal: unknown): refusal is Refusal =>
  refusal instanceof Refusal && [400, 403, 409, 412, 422].includes(refusal.status);
