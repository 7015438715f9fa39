import { readableShade, THEME } from "./colours.ts";
import type { PageLooks } from "./looks.ts";

const LOGO = { width: 200, height: 56 };
const [[BG, DARK_BG], [CARD, DARK_CARD], [LINE, DARK_LINE]] = [THEME.bg, THEME.surface, THEME.line];
const [[TEXT, DARK_TEXT], [QUIET, DARK_QUIET]] = [THEME.text, THEME.muted];
/** An element `a`. It ends at the next angle bracket, so that the search takes linear time. */
const LINK = /<a ([^<>]{1,4000})>/gi;
const FONT = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const SPACE = /\s*/y;
const WHOLE = /<(?:!doctype|html|head|body)\b/iy;

/**
 * True if the HTML is a whole document: after comments it begins with `<!doctype>`, `<html>`, `<head>` or `<body>`. It is a
 * loop, because one regular expression with the comments would backtrack.
 */
export function isWholeDocument(html: string): boolean {
  for (let at = 0;;) {
    SPACE.lastIndex = at;
    SPACE.test(html);
    const start = SPACE.lastIndex;
    const end = html.startsWith("<!--", start) ? html.indexOf("-->", start + 4) : -1;
    if (end === -1) {
      WHOLE.lastIndex = start;
      return WHOLE.test(html);
    }
    at = end + 3;
  }
}

/**
 * Surrounds the HTML of a mail with the default layout: logo or product name, a card, and the footer. Elements of the
 * classes `button`, `link` and `quiet`, plain `<h1>`, and links without class and style get inline styles, because many mail
 * programs ignore style sheets. Links have a readable shade of the primary colour.
 * @param o.logoUrl public URL of the logo; null: the product name is shown
 * @param o.language of the text, if known
 */
export function mailDocument(
  html: string,
  looks: PageLooks,
  o: { title: string; logoUrl: string | null; language: string | null },
): string {
  const { primaryColour } = looks;
  const link = readableShade(primaryColour, CARD);
  const title = escape(o.title);
  return `<!doctype html>
<html${o.language === null ? "" : ` lang="${escape(o.language)}"`}>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  .around { padding: 12px 8px !important; }
  .inside { padding: 24px 20px !important; }
}
@media (prefers-color-scheme: dark) {
  .page { background: ${DARK_BG} !important; }
  .card { background: ${DARK_CARD} !important; border-color: ${DARK_LINE} !important; }
  .inside, .inside h1, .inside h2, .inside p, .name { color: ${DARK_TEXT} !important; border-color: ${DARK_LINE} !important; }
  .inside .quiet, .quiet { color: ${DARK_QUIET} !important; }
  .inside a.link { color: ${readableShade(primaryColour, DARK_CARD)} !important; }
  .logo { background: #ffffff; padding: 6px; border-radius: 6px; }
}
</style><title>${title}</title></head>
<body class="page" style="margin:0;padding:0;background:${BG}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" bgcolor="${BG}" style="background:${BG}"><tr><td align="center" class="around" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px"><tr><td style="padding:0 4px 16px;text-align:left;font-family:${FONT};font-size:18px;font-weight:600;color:${link}">${
    brand(looks, o.logoUrl)
  }</td></tr></table>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" bgcolor="${CARD}" style="max-width:560px;background:${CARD};border:1px solid ${LINE};border-radius:8px;border-collapse:separate"><tr><td class="inside" style="text-align:left;padding:32px;font-family:${FONT};font-size:16px;line-height:1.5;color:${TEXT}">
${styled(html, looks, link)}
</td></tr></table>
${footer(looks)}</td></tr></table>
</body>
</html>`;
}

function brand({ logo, productName }: PageLooks, logoUrl: string | null): string {
  if (!logo || logoUrl === null) return `<span class="name">${escape(productName)}</span>`;
  const scale = Math.min(1, LOGO.width / logo.width, LOGO.height / logo.height);
  const [width, height] = [logo.width, logo.height].map((pixels) => Math.max(1, Math.round(pixels * scale)));
  return `<img class="logo" src="${escape(logoUrl)}" alt="${
    escape(productName)
  }" width="${width}" height="${height}" style="display:block;border:0">`;
}

/** Adds inline styles to the classes of the layout. */
const styled = (html: string, { primaryColour, textColour }: PageLooks, link: string): string =>
  html
    .replaceAll(
      'class="button"',
      `class="button" style="display:inline-block;margin:16px 0 8px;padding:12px 22px;background:${primaryColour};` +
        `color:${textColour};border-radius:6px;font-weight:600;line-height:20px;text-decoration:none"`,
    )
    .replaceAll("<h1>", '<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">')
    .replaceAll(LINK, (tag, attributes) =>
      /\b(?:class|style) *=/i.test(attributes) ? tag : `<a class="link" ${attributes}>`)
    .replaceAll('class="link"', `class="link" style="color:${link}"`)
    .replaceAll('<p class="quiet"', `<p class="quiet" style="font-size:13px;color:${QUIET}"`);

const footer = (looks: PageLooks): string =>
  looks.footer === ""
    ? ""
    : `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px"><tr><td class="quiet" style="padding:16px 4px 0;text-align:left;font-family:${FONT};font-size:13px;line-height:1.5;color:${QUIET}">${
      escape(looks.footer).replaceAll(/\r?\n/g, "<br>")
    }</td></tr></table>
`;

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
