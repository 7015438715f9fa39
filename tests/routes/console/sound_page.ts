import assert from "node:assert/strict";
import { DomUtils } from "htmlparser2";
import { disabled, isButton, type ShownPage, type Tag } from "./shown_page.ts";

/** Attributes that name other elements of the page. */
const REFERENCES = ["aria-labelledby", "aria-describedby", "aria-controls", "for", "list"];

/**
 * Fails if a page of the console is not sound: it allows no inline scripts or styles, its ids are unique, references lead
 * somewhere, everything that can be used has a name, required inputs are marked, and each form has its token.
 */
export function requireSound(page: ShownPage): void {
  if (page.tags.length === 0) return; // no HTML
  const faults = [...faultsOf(page)];
  assert.deepEqual(faults, [], `${page.address} (${page.status}) is not sound`);
}

function* faultsOf(page: ShownPage): Generator<string> {
  const { html, headers, status, tags } = page;
  if (status >= 500) yield `the status is ${status}`;
  if (!/default-src 'none'/.test(headers.get("content-security-policy") ?? "")) {
    yield "no content security policy";
  }
  const shown = (tag: Tag) =>
    html.slice(tag.startIndex ?? 0, (tag.endIndex ?? 0) + 1).slice(0, 200) || describe(tag);
  const ids = new Set<string>();
  for (const { attribs: { id } } of tags) {
    if (id !== undefined && ids.has(id)) yield `the id ${id} is not unique`;
    if (id !== undefined) ids.add(id);
  }
  if (page.all("html")[0] && !page.all("html")[0]?.attribs.lang) yield "no language";
  if (page.all("html")[0] && page.all("h1").length !== 1) yield `${page.all("h1").length} main headings`;
  for (const tag of tags) {
    const { name, attribs } = tag;
    if (name === "script" && !attribs.src) yield "an inline script";
    for (const attribute of Object.keys(attribs)) {
      if (attribute === "style" || /^on/.test(attribute)) yield `inline ${attribute}: ${shown(tag)}`;
      if (!REFERENCES.includes(attribute)) continue;
      for (const id of (attribs[attribute] ?? "").split(" ")) {
        if (!ids.has(id)) yield `${attribute} refers to ${id}, which is not there`;
      }
    }
    const isUsed = ["a", "select", "textarea"].includes(name) || isButton(tag) || name === "button" ||
      (name === "input" && !["hidden", "submit"].includes(attribs.type ?? ""));
    if (isUsed && page.nameOf(tag) === "") yield `no name: ${shown(tag)}`;
    if (name === "img" && attribs.alt === undefined) yield `no alternative text: ${shown(tag)}`;
    if (name === "input" && attribs.type === "search" && !attribs.maxlength) {
      yield `no maximum length: ${shown(tag)}`;
    }
    if (name === "form" && attribs.method === "post") {
      const csrf = DomUtils.getElementsByTagName("input", tag).some(({ attribs }) => attribs.name === "csrf");
      if (!csrf && !isSignIn(page) && attribs.action !== SET_UP) yield `no token: ${shown(tag)}`;
    }
    if (attribs["aria-invalid"] === "true" && !attribs["aria-describedby"]) {
      yield `no error is named: ${shown(tag)}`;
    }
  }
  const required = tags.filter((tag) => "required" in tag.attribs && !disabled(tag)).length;
  const marks =
    page.all("span", ({ attribs, parent }) => attribs.class === "required" && parent !== null).length;
  if (marks < required) yield `${required} required fields and ${marks} marks`;
}

/** The form that brings the token of a set-up link. */
const SET_UP = "set-up/open";

/** Forms of pages without a session have no token to send. */
const isSignIn = ({ address }: ShownPage): boolean => /^\/console\/sign-in/.test(address);

const describe = ({ name, attribs }: Tag): string => `<${name} ${JSON.stringify(attribs)}>`;
