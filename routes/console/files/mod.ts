import { instantOf } from "../components/date_inputs.ts";
import { actionsOf, done, formPage, sendTo, toDocument } from "../shared/actions.ts";
import {
  type ConsolePage,
  type ConsoleSection,
  field,
  navItem,
  optionalField,
  type Visit,
} from "../shared/page.ts";
import { filePage } from "./detail.tsx";
import { fileActions, filesPage, scannerPage } from "./list.tsx";
import { complete, reserve, uploadPage } from "./upload.tsx";
import { fileTexts } from "./texts.ts";

const permissions = ["read:files"];
const uploading = ["upload:files"];

const pathOf = ({ params }: Visit): string => `files/${params.id}`;

/** A form of a file's page has its own address. A GET of that address, such as a reload, leads to the file. */
const formOfFile = (page: Parameters<typeof formPage>[0]): ConsolePage => ({
  ...formPage(page),
  get: (v) => ({ goTo: pathOf(v) }),
});

const retentionPage = formOfFile({
  path: "files/{id}/retention",
  permissions: ["retain:files"],
  show: (v, retention) => filePage(v, { retention }),
  async send(v, form) {
    const retainUntil = field(form, "retainUntil");
    // The input has only whole minutes. Sent back unchanged, it would shorten the retention by seconds.
    const isChanged = retainUntil !== field(form, "keptUntil");
    const body = {
      retentionClass: field(form, "retentionClass"),
      retainUntil: isChanged ? instantOf(v, retainUntil) ?? null : undefined,
      legalHold: form.get("legalHold") === "true",
      reason: optionalField(form, "reason"),
    };
    await v.api.call("changeRetention", { params: v.params, body, ifMatch: field(form, "version") });
    return done(pathOf(v), fileTexts[v.locale].retentionSaved);
  },
});

const purgePage = formOfFile({
  path: "files/{id}/purge",
  permissions: ["purge:files"],
  show: (v, purge) => filePage(v, { purge }),
  send: sendTo(
    "purgeFile",
    (form) => ({ reason: field(form, "purgeReason") }),
    (v) => done(pathOf(v), fileTexts[v.locale].purged),
  ),
});

/** Files, their scans, references and retention, and uploads. */
export const filesSection: ConsoleSection = {
  area: "files",
  nav: [navItem(fileTexts, "files", { path: "files", icon: "files" })],
  pages: [
    { path: "files", permissions, get: filesPage, bulk: fileActions },
    { path: "files/scanner", permissions, get: scannerPage },
    { path: "files/upload", permissions: uploading, get: uploadPage, post: reserve },
    { path: "files/{id}", permissions, get: (v) => filePage(v) },
    {
      path: "files/{id}/download",
      permissions,
      get: (v) => toDocument(v, v.api.call("giveDownloadUrl", { params: v.params }), pathOf(v)),
    },
    { path: "files/{id}/complete", permissions: uploading, post: complete },
    ...actionsOf("files/{id}", fileTexts, {
      confirm: ["completeFile", "uploadConfirmed"],
      "references/{referenceId}/release": ["releaseReference", "released"],
    }, uploading),
    retentionPage,
    purgePage,
  ],
};
