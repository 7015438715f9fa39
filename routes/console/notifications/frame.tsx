/**
 * A message's HTML for a frame: whoever wrote it, nothing in it runs, is loaded, is sent or leads out of the frame.
 * The policy holds also where the address is opened by itself.
 */
export function framedHtml(html: string): Response {
  return new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

/** The frame for it, by the address of such an answer, or by a name that a form sends it to. */
export const HtmlFrame = ({ label, src, name }: { label: string; src?: string; name?: string }) => (
  <iframe class="preview" title={label} sandbox="" src={src} name={name}></iframe>
);
