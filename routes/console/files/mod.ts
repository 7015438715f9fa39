import { instantOf } from "../components/date_inputs.ts";
import { action, done, formPage } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { type ConsoleSection, field, optionalField, type Outcome, type Visit } from "../shared/page.ts";
import { filePage } from "./detail.tsx";
import { filesPage } from "./list.tsx";
import { scannerPage } from "./scanner.tsx";
import { complete, reserve, uploadPage } from "./upload.tsx";
import { fileTexts } from "./texts.ts";

const permissions = ["read:files"];
const uploading = ["upload:files"];
const fileOf = (v: Visit) => `files/${v.params.id}`;

/** A form shown again with errors has its own address. A GET of that address, such as a reload, leads to the file. */
const get = (v: Visit): Outcome => ({ goTo: fileOf(v) });

const retentionPage = formPage({
  path: "files/{id}/retention",
  permissions: ["retain:files"],
  show: (v, retention) => filePage(v, { retention }),
  async send(v, form) {
    const retainUntil = field(form, "retainUntil");
    // The input has only whole minutes. Sent back unchanged, it would shorten the retention by seconds.
    const isChanged = retainUntil !== field(form, "keptUntil");
    await v.api.call("changeRetention", {
      params: v.params,
      body: {
        retentionClass: field(form, "retentionClass"),
        retainUntil: isChanged ? instantOf(v, retainUntil) ?? null : undefined,
        legalHold: form.get("legalHold") === "true",
        reason: optionalField(form, "reason"),
      },
      ifMatch: field(form, "etag"),
    });
    return done(fileOf(v), fileTexts[v.locale].retentionSaved);
  },
});

const purgePage = formPage({
  path: "files/{id}/purge",
  permissions: ["purge:files"],
  show: (v, purge) => filePage(v, { purge }),
  async send(v, form) {
    await v.api.call("purgeFile", { params: v.params, body: { reason: field(form, "purgeReason") } });
    return done(fileOf(v), fileTexts[v.locale].purged);
  },
});

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
    {
      path: "files/{id}/confirm",
      permissions: uploading,
      async post(v) {
        await v.api.call("completeFile", { params: v.params, body: {} });
        return done(fileOf(v), fileTexts[v.locale].uploadConfirmed);
      },
    },
    action(
      "files/{id}/references/{referenceId}/release",
      "releaseReference",
      (v) => done(fileOf(v), fileTexts[v.locale].released),
      uploading,
    ),
    { ...retentionPage, get },
    { ...purgePage, get },
  ],
};

/** Redirects to a signed download URL. */
async function download(v: Visit): Promise<Outcome> {
  try {
    const { url } = await v.api.call("giveDownloadUrl", { params: v.params });
    return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store" } });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 409) throw refusal;
    return { goTo: fileOf(v), flash: refusal.flash };
  }
}
