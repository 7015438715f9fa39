import { fragment } from "../components/fragment.ts";
import { Notice } from "../components/notice.tsx";
import { framedHtml } from "../notifications/live_preview.tsx";
import { Refusal } from "../shared/api.ts";
import type { Input } from "../shared/operations.ts";
import type { Outcome, Visit } from "../shared/page.ts";

type Preview = Input<"previewDocumentTemplate">["body"];

/** Draws a document template for a frame. A refusal is shown in the frame. @param bodyOf may refuse what was typed */
export async function framedDocument(v: Visit, bodyOf: () => Preview): Promise<Outcome> {
  try {
    const answer = await v.api.answer("previewDocumentTemplate", { body: bodyOf() });
    return new Response(answer.body, {
      headers: {
        "content-type": "application/pdf",
        "content-disposition": "inline",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
        "cache-control": "no-store",
      },
    });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status >= 500) throw refusal;
    const messages = Object.entries(refusal.fields).flatMap(([name, texts]) =>
      texts.map((text) => `${name}: ${text}`)
    );
    const shown: Response = await fragment(
      <Notice tone="bad" title={refusal.text}>
        <ul>{messages.map((message) => <li>{message}</li>)}</ul>
      </Notice>,
    );
    return framedHtml(await shown.text());
  }
}
