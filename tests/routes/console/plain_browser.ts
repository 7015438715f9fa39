import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor, TestService } from "../../support/setup.ts";

/** A browser without scripts that is signed in to the console. */
export async function browse(t: TestService, actor: Actor) {
  const cookies = new Map([
    ["steward_console", await openBrowserSession(t.steward.platform, actor.token ?? "")],
  ]);
  async function ask(address: string, form?: [string, string][]) {
    const response = await fetch(`${t.url}/console/${address}`, {
      redirect: "manual",
      headers: { cookie: [...cookies].map((cookie) => cookie.join("=")).join("; "), origin: t.url },
      ...form ? { method: "POST", body: new URLSearchParams(form) } : {},
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return {
      status: response.status,
      location: response.headers.get("location") ?? "",
      html: await response.text(),
    };
  }
  return {
    open: (address: string) => ask(address),
    send: (address: string, form: [string, string][]) => ask(address, form),
  };
}

/** The hidden fields of the form with an action. */
export function hiddenOf(html: string, action: string): [string, string][] {
  const [form = ""] =
    html.match(/<form\b[^]*?<\/form>/g)?.filter((text) => text.includes(`action="${action}"`)) ?? [];
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  assert.ok(fields.length > 0, `no form ${action}`);
  return fields.map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]);
}
