import assert from "node:assert/strict";
import { htmlToText } from "../../../../domain/notifications/rendering/mod.ts";

const cases: [string, string, string][] = [
  ["paragraphs", "<p>One  <b>bold</b>\n word</p><p>Two<br>three</p>", "One bold word\n\nTwo\nthree"],
  ["no text", "<head><title>t</title></head><style>p{}</style><!-- no -->a<script>1<2</script>b", "ab"],
  ["a head without an end", "<html><head><title>t</title><meta charset=utf-8><body>Dear Ann", "Dear Ann"],
  ["headings", "<h1>Title</h1>text<h2>Sub</h2><div>more</div>", "Title\n\ntext\n\nSub\n\nmore"],
  [
    "a link gives its address",
    '<a href="https://x.y/?a=1&amp;b=2">the report</a>.',
    "the report (https://x.y/?a=1&b=2).",
  ],
  [
    "a link whose text is its address",
    '<a href="https://x.y">https://x.y</a> <a href="mailto:a@x.y">a@x.y</a>',
    "https://x.y a@x.y",
  ],
  ["links nowhere", '<a href="#top">up</a> <a href="javascript:x()">run</a> <a>plain</a>', "up run plain"],
  ["an image in a link", '<a href="https://x.y"><img src="l.png" alt="Logo"></a>', "Logo (https://x.y)"],
  [
    "nested lists",
    "<ul><li>one<ol><li>a</li><li>b</li></ol></li><li>two<br>more</li></ul>after",
    "- one\n  1. a\n  2. b\n- two\n  more\n\nafter",
  ],
  ["tables", "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>", "A | B\n1 | 2"],
  ["quotes", "<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc"],
  ["preformatted text", "<pre>a\n  b</pre>", "a\n  b"],
  ["rules", "a<hr>b", "a\n\n----------\n\nb"],
  [
    "entities",
    "&lt;b&gt; &amp;amp; &euro;&#233;&#x1F600; &no; &#0;&#xD800;",
    "<b> &amp; €é😀 &no; \ufffd\ufffd",
  ],
  ["text that only looks like a tag", "1 < 2 <3 a<b", "1 < 2 <3 a"],
  ["attributes with a > in them", '<p title="a > b">x</p>', "x"],
];
for (const [name, html, expected] of cases) {
  Deno.test(`plain text of HTML: ${name}`, () => assert.equal(htmlToText(html), expected));
}
