const STYLE =
  `:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:3rem auto;
padding:0 1.25rem}h1{font-size:1.6rem;margin:.2rem 0 1.4rem}h2{font-size:1rem;margin:1.6rem 0 .2rem}
code{font:.95em ui-monospace,monospace}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid #8884;vertical-align:top}
article{border-bottom:1px solid #8884;padding:1rem 0}pre{white-space:pre-wrap}
input,button{font:inherit;padding:.4rem .7rem;box-sizing:border-box;max-width:100%}input{width:24rem}`;

/** Escapes text for HTML. */
export const escapeHtml = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/**
 * A small self-contained HTML page; `title` is escaped, `body` is HTML.
 * @param around further style, and HTML before and after the body
 */
export const page = (
  title: string,
  body: string,
  language = "en",
  around = { style: "", header: "", footer: "" },
): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>${
    escapeHtml(title)
  }</title><style>${STYLE}${around.style}</style></head>
<body>${around.header}<main>${body}</main>${around.footer}</body></html>`;
