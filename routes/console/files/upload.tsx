import type { Child } from "hono/jsx";
import { CheckField, CsrfField, FileField } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { bytes } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import { field, may, type View, type Visit } from "../shared/page.ts";
import { fileTexts } from "./texts.ts";

const PARTS_FROM_BYTES = 32 * 1024 * 1024;

/** The page that uploads a file of any profile. */
export async function uploadPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  const profiles = await v.api.call("listFileProfiles");
  return {
    title: t.upload,
    scripts: ["upload.js"],
    body: (
      <Card>
        <p class="muted">{t.uploadText}</p>
        <UploadForm v={v} profiles={profiles} label={t.uploadButton}>
          <div class="field">
            <label for="f-profile">{t.profile}</label>
            <select id="f-profile" name="profile" aria-describedby="profile-hints">
              {profiles.map(({ name }) => <option value={name}>{name}</option>)}
            </select>
            <div class="hint" id="profile-hints">
              {profiles.map(({ name, maxBytes, contentTypes }, index) => (
                <span data-hint-of={name} hidden={index > 0}>
                  {t.accepts(contentTypes.map(shortType).join(", "), bytes(v, maxBytes))}
                </span>
              ))}
            </div>
          </div>
        </UploadForm>
      </Card>
    ),
  };
}

/**
 * The upload form. The page needs the script `upload.js`, which reserves the file, sends it to storage and confirms it.
 * @param goTo the page after the upload, with `{id}` for the id of the file; absent: the page of the file
 * @param children the input `profile`
 */
export function UploadForm({ v, profiles, label, goTo, children }: {
  v: Visit;
  profiles: Answer<"listFileProfiles">;
  label: string;
  goTo?: string;
  children: Child;
}) {
  const t = fileTexts[v.locale];
  const { reserving, sending, confirming, tooLarge, empty, cancelled, sendFailed: failed } = t;
  return (
    <>
      <noscript>
        <Notice tone="warn">{t.needsScript}</Notice>
      </noscript>
      <form
        method="post"
        action="files/upload"
        class="form"
        data-upload
        data-go-to={goTo}
        data-texts={JSON.stringify({ reserving, sending, confirming, tooLarge, empty, cancelled, failed })}
        data-profiles={JSON.stringify(profiles)}
      >
        <CsrfField v={v} />
        {children}
        <FileField label={t.file} name="file" />
        {may(v.viewer, "admin:system") && !goTo && <CheckField label={t.isProduct} name="isProduct" />}
        <div class="row">
          <button type="submit" class="button primary" data-upload-start>{label}</button>
          <button type="button" class="button" data-upload-cancel hidden>{t.cancelUpload}</button>
        </div>
        <div class="upload-progress" data-upload-progress hidden>
          <progress max={100} value={0} aria-label={t.progress}></progress>
          <span data-upload-text></span>
        </div>
        <p class="error" role="alert" data-upload-problem></p>
      </form>
    </>
  );
}

/** Reserves a file for the page's script. Responds with the signed URLs as JSON. */
export async function reserve(v: Visit, form: FormData): Promise<Response> {
  const fileName = field(form, "fileName");
  const sizeBytes = Number(field(form, "sizeBytes"));
  return await answerJson(() =>
    v.api.call("reserveFile", {
      body: {
        profile: field(form, "profile"),
        fileName,
        contentType: declaredType(fileName, field(form, "contentType")),
        sizeBytes,
        isProduct: field(form, "isProduct") === "true",
        parts: sizeBytes > PARTS_FROM_BYTES || undefined,
      },
    })
  );
}

/** Confirms the upload that the page's script has sent. */
export async function complete(v: Visit, form: FormData): Promise<Response> {
  const etags = form.getAll("etag").map(String); // in part order; empty if the file was sent in one request
  return await answerJson(async () => {
    const parts = etags.map((etag, index) => ({ partNumber: index + 1, etag }));
    await v.api.call("completeFile", { params: v.params, body: { parts: parts.length > 0 ? parts : null } });
    return { goTo: `files/${v.params.id}` };
  });
}

async function answerJson(run: () => Promise<unknown>): Promise<Response> {
  const headers = { "cache-control": "no-store" };
  try {
    return Response.json(await run(), { headers });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
    const { status, text, detail } = refusal;
    return Response.json({ problem: `${text} ${detail}` }, { status, headers });
  }
}

/** Media types by file extension. */
const TYPES: Record<string, string> = {
  csv: "text/csv",
  txt: "text/plain",
  json: "text/plain", // the profiles have no type of its own for it
  pdf: "application/pdf",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  zip: "application/zip",
  gz: "application/gzip",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  odp: "application/vnd.oasis.opendocument.presentation",
  doc: "application/msword",
  xls: "application/vnd.ms-excel",
  ppt: "application/vnd.ms-powerpoint",
};
const EXTENSIONS = new Map(Object.entries(TYPES).toReversed().map(([extension, type]) => [type, extension]));

/** Short name of a media type, such as "xlsx": its file extension, else the last part of the type. */
export const shortType = (type: string): string => EXTENSIONS.get(type) ?? type.replace(/^.*[./]/, "");

/**
 * The media type to declare for an upload: by file extension, because browsers differ, else the browser's type. The scan
 * detects the real type.
 */
export function declaredType(fileName: string, browserType: string): string {
  const extension = fileName.split(".").pop()?.toLowerCase() ?? "";
  return (Object.hasOwn(TYPES, extension) ? TYPES[extension] : browserType) || "application/octet-stream";
}
