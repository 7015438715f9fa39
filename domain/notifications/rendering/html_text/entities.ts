/** The named character references that mail uses; any other stays as it is written. */
const NAMED: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", shy: "", zwnj: "", zwj: "\u200d" },
  ...{
    copy: "©",
    reg: "®",
    trade: "™",
    deg: "°",
    plusmn: "±",
    times: "×",
    divide: "÷",
    frac12: "½",
    micro: "µ",
  },
  ...{ hellip: "…", ndash: "–", mdash: "—", bull: "•", middot: "·", sect: "§", para: "¶", dagger: "†" },
  ...{ lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", laquo: "«", raquo: "»" },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", larr: "←", rarr: "→", uarr: "↑", darr: "↓", check: "✓" },
  ...{ ensp: " ", emsp: " ", thinsp: " ", iexcl: "¡", iquest: "¿", ordf: "ª", ordm: "º", szlig: "ß" },
  ...{ aacute: "á", agrave: "à", acirc: "â", atilde: "ã", auml: "ä", aring: "å", aelig: "æ", ccedil: "ç" },
  ...{ eacute: "é", egrave: "è", ecirc: "ê", euml: "ë", iacute: "í", icirc: "î", iuml: "ï", ntilde: "ñ" },
  ...{ oacute: "ó", ograve: "ò", ocirc: "ô", otilde: "õ", ouml: "ö", oslash: "ø", uacute: "ú", ugrave: "ù" },
  ...{ ucirc: "û", uuml: "ü", Aacute: "Á", Auml: "Ä", Ccedil: "Ç", Eacute: "É", Ouml: "Ö", Uuml: "Ü" },
};
const REFERENCE = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,9}));/g;

/** Replaces character references by what they stand for; what is none, or names no character, stays. */
export function decodeEntities(text: string): string {
  return text.replace(REFERENCE, (whole: string, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name] ?? whole : whole;
    const code = decimal !== undefined ? Number(decimal) : parseInt(hex ?? "", 16);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
