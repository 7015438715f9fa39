import type { Child } from "hono/jsx";
import { fragment } from "../components/fragment.ts";
import { Notice } from "../components/notice.tsx";
import { Facts } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import type { Outcome, Visit } from "../shared/page.ts";
import { framedHtml, HtmlFrame } from "./frame.tsx";
import { notificationTexts } from "./texts.ts";

/** What a message would say. */
export interface Said {
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
}

const FRAME = "html-preview";

/**
 * What the form around it would come to, asked anew as its fields change: subject, text and mistakes from `action`,
 * the HTML from `action`/body in a frame of its own. A preview that fails leaves the last good one in the frame.
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

/** The two answers a `LivePreview` asks for, from what `said` makes of the form. */
export const previewActions = (
  said: (v: Visit, form: FormData) => Promise<Said>,
  refused = refusedPreview,
) => ({
  async text(v: Visit, form: FormData): Promise<Outcome> {
    try {
      return await fragment(<SaidText v={v} said={await said(v, form)} />);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status >= 500) throw refusal;
      return await fragment(refused(v, refusal));
    }
  },
  async body(v: Visit, form: FormData): Promise<Outcome> {
    try {
      return framedHtml((await said(v, form)).htmlBody ?? "");
    } catch (refusal) {
      if (refusal instanceof Refusal) return new Response(null, { status: 204 });
      throw refusal;
    }
  },
});

function SaidText({ v, said: { subject, htmlBody, textBody } }: { v: Visit; said: Said }) {
  const t = notificationTexts[v.locale];
  return (
    <>
      <Facts facts={[[t.subject, subject || null]]} />
      {!htmlBody && <span data-no-html></span>}
      {textBody !== null && (
        <details open={!htmlBody}>
          <summary>{t.previewText}</summary>
          <pre class="code-block" tabindex={0} role="region" aria-label={t.textBody}>{textBody}</pre>
        </details>
      )}
    </>
  );
}

function refusedPreview(_v: Visit, refusal: Refusal): Child {
  return <PreviewMistakes refusal={refusal} />;
}

/** What is wrong, with `place` leading to each mistake where it can be found. */
export function PreviewMistakes(
  { refusal, place = (field, message) => `${field}: ${message}` }: {
    refusal: Refusal;
    place?: (field: string, message: string) => Child;
  },
) {
  const mistakes = Object.entries(refusal.fields);
  return (
    <div data-preview-failed>
      <Notice tone="bad" {...mistakes.length > 0 ? {} : { title: refusal.detail }}>
        <ul>
          {mistakes.flatMap(([field, messages]) =>
            messages.map((message) => <li>{place(field, message)}</li>)
          )}
        </ul>
      </Notice>
    </div>
  );
}
