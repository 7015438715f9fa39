import type { Child } from "hono/jsx";
import { fragment } from "../shared/actions.ts";
import { Notice } from "../components/notice.tsx";
import { CodeBlock, factList, JsonText } from "../components/values.tsx";
import { orNull, Refusal } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";
import { notificationTexts } from "./texts.ts";

export type RenderedMessage =
  & Omit<Answer<"previewNotificationTemplate">, "documentHtml" | "data">
  & {
    documentHtml?: string | null;
    /** Sample data that the message was rendered with. */
    sample?: Record<string, unknown> | undefined;
  };

const FRAME = "html-preview";

/**
 * A preview of the surrounding form that refreshes when its fields change. `action` returns subject, text and errors;
 * `action`/body returns the HTML for the iframe. If the preview fails, the iframe keeps the last valid HTML.
 */
export function LivePreview({ v, action }: { v: Visit; action: string }) {
  const t = notificationTexts[v.locale];
  return (
    <>
      <div
        class="stack"
        data-preview
        aria-live="polite"
        hx-post={action}
        hx-trigger="load, input from:closest form delay:400ms, change from:closest form delay:400ms"
        hx-sync="this:replace"
        hx-target="this"
      >
        <p class="muted">{t.fillIn}</p>
      </div>
      <HtmlFrame label={t.htmlFrame} name={FRAME} />
      <div>
        <button
          type="submit"
          class="button small no-script"
          formaction={`${action}/body`}
          formtarget={FRAME}
          formnovalidate
          data-frame-button
        >
          {t.preview}
        </button>
      </div>
    </>
  );
}

/** The two pages that `LivePreview` requests of `path`. `render` renders the form's message. */
export const previewPages = (
  path: string,
  render: (v: Visit, form: FormData) => Promise<RenderedMessage>,
  showErrors = defaultErrors,
): ConsolePage[] => [
  {
    path,
    async post(v, form) {
      try {
        return await fragment(<TextPreview v={v} message={await render(v, form)} />);
      } catch (refusal) {
        if (!(refusal instanceof Refusal) || refusal.status >= 500) throw refusal;
        return await fragment(showErrors(v, refusal));
      }
    },
  },
  {
    path: `${path}/body`,
    async post(v, form) {
      try {
        const { htmlBody, documentHtml = htmlBody } = await render(v, form);
        return framedHtml(await withLogo(v, documentHtml ?? ""));
      } catch (refusal) {
        if (refusal instanceof Refusal) return new Response(null, { status: 204 });
        throw refusal;
      }
    },
  },
];

function TextPreview(
  { v, message: { subject, htmlBody, textBody, sample } }: { v: Visit; message: RenderedMessage },
) {
  const t = notificationTexts[v.locale];
  return (
    <>
      {factList([[t.subject, subject || null]])}
      {!htmlBody && <span data-no-html></span>}
      {textBody !== null && (
        <details open={!htmlBody}>
          <summary>{t.previewText}</summary>
          <CodeBlock label={t.textBody}>{textBody}</CodeBlock>
        </details>
      )}
      {sample && Object.keys(sample).length > 0 && (
        <details>
          <summary>{t.usedSample}</summary>
          <JsonText value={JSON.stringify(sample)} label={t.usedSample} />
        </details>
      )}
    </>
  );
}

const defaultErrors = (_v: Visit, refusal: Refusal): Child => <PreviewErrors refusal={refusal} />;

/** The errors of a preview. `describe` formats one error. */
export function PreviewErrors(
  { refusal, describe = (field, message) => `${field}: ${message}` }: {
    refusal: Refusal;
    describe?: (field: string, message: string) => Child;
  },
) {
  const errors = Object.entries(refusal.fields);
  return (
    <div data-preview-failed>
      <Notice tone="bad" {...errors.length > 0 ? {} : { title: refusal.text }}>
        <ul>
          {errors.flatMap(([field, messages]) =>
            messages.map((message) => <li>{describe(field, message)}</li>)
          )}
        </ul>
      </Notice>
    </div>
  );
}

/** The tenant's logo as a data URL; null if it has none. Frames of previews load nothing else. */
export async function logoData(v: Visit): Promise<string | null> {
  const tenantId = v.viewer.tenant?.id;
  if (!tenantId) return null;
  const answer = await orNull(v.api.answer("showTenantLogo", { params: { tenantId } }));
  if (!answer) return null;
  const contentType = answer.headers.get("content-type");
  return `data:${contentType};base64,${new Uint8Array(await answer.arrayBuffer()).toBase64()}`;
}

/** A template may name the logo often; each data URL can be 340 KB long. */
const MAX_LOGOS = 10;

/** HTML of a preview with the tenant's logo in place of its public address, which the frame would not load. */
export async function withLogo(v: Visit, html: string): Promise<string> {
  const path = `/looks/${v.viewer.tenant?.id}/logo`;
  if (!html.includes(path)) return html;
  const data = await logoData(v);
  if (data === null) return html;
  // A template may have escaped the `=` of the address.
  const address = new RegExp(`[^"'\\s(]{0,200}${path}(?:\\?v(?:=|&#x3D;|&#61;)[\\w-]+)?`, "g");
  let shown = 0;
  return html.replaceAll(address, (found) => shown++ < MAX_LOGOS ? data : found);
}

/**
 * Serves a message's untrusted HTML for an iframe. The policy blocks scripts, external content, forms and navigation, also
 * when the address is opened directly.
 */
export function framedHtml(html: string): Response {
  return new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

/** A sandboxed iframe. `src` is the address of a `framedHtml` response; `name` is the target of a form. */
export const HtmlFrame = ({ label, src, name }: { label: string; src?: string; name?: string }) => (
  <iframe class="preview" title={label} sandbox="" src={src} name={name}></iframe>
);
