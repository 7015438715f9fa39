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
