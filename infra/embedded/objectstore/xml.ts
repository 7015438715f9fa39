import { S3Problem } from "./request.ts";

/** XML built by `element`. It is put into other elements without escaping. */
export class Xml {
  constructor(readonly text: string) {}
}

/** Builds an element. Escapes strings and numbers, but not Xml. */
export function element(name: string, ...content: (string | number | Xml)[]): Xml {
  const inside = content.map((part) => part instanceof Xml ? part.text : escapeText(String(part))).join("");
  return new Xml(`<${name}>${inside}</${name}>`);
}

// Control characters become character references, as in S3, although XML 1.0 forbids most of them. A client that lists
// such keys uses encoding-type=url.
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    // deno-lint-ignore no-control-regex
    .replaceAll(/[\u0000-\u001f\u007f]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** A complete XML answer in S3's namespace. */
export function xmlResponse(root: string, content: Xml[]): Response {
  const inside = content.map((part) => part.text).join("");
  return document(`<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inside}</${root}>`);
}

/** S3's Error document. The answer to a HEAD request must have no body. */
export function errorResponse(problem: S3Problem, requestId: string, withBody: boolean): Response {
  const { status, headers } = problem;
  if (!withBody) return new Response(null, { status, headers });
  const fields = [
    element("Code", problem.code),
    element("Message", problem.message),
    element("RequestId", requestId),
  ];
  return document(element("Error", ...fields).text, { status, headers });
}

function document(xml: string, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/xml");
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}`, { ...init, headers });
}

export interface ListedPart {
  partNumber: number;
  etag: string;
}

/** Parses a CompleteMultipartUpload body. Throws MalformedXML if it is not a list of 1 to 10,000 parts, InvalidPart. */
export function parseCompletion(xml: string): ListedPart[] {
  const body =
    /^\s*(?:<\?xml[^>]*\?>\s*)?<CompleteMultipartUpload(?:\s[^>]*)?>([\s\S]*)<\/CompleteMultipartUpload>\s*$/
      .exec(xml)?.[1];
  if (body === undefined) throw new S3Problem("MalformedXML");
  const parts: ListedPart[] = [];
  const rest = body.replaceAll(/<Part>([\s\S]*?)<\/Part>/g, (_, inside: string) => {
    const partNumber = Number(/<PartNumber>\s*(\d{1,5})\s*<\/PartNumber>/.exec(inside)?.[1]);
    const etag = /<ETag>\s*(?:"|&quot;|&#34;)?([0-9a-f]{32})(?:"|&quot;|&#34;)?\s*<\/ETag>/i.exec(inside)
      ?.[1];
    if (!(partNumber >= 1 && partNumber <= 10_000)) throw new S3Problem("MalformedXML");
    if (!etag) throw new S3Problem("InvalidPart");
    parts.push({ partNumber, etag: etag.toLowerCase() });
    return "";
  });
  if (rest.trim() !== "" || parts.length === 0) throw new S3Problem("MalformedXML");
  return parts;
}
