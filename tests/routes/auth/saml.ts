// A service whose tenant signs in by its own SAML provider.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { Browser } from "../../support/oidc.ts";
import { accepted } from "../../support/outcomes.ts";
import {
  type AnswerParts,
  base64,
  goodAnswer,
  makeSamlKey,
  requestOf,
  type SamlKey,
} from "../../support/saml.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { OpenIdTest, type Outcome, PUBLIC_URL, readOutcome } from "./openid.ts";

const ISSUER = "https://idp.test/metadata";

/** A sign-in that was redirected to the provider. */
export interface SamlFlow {
  browser: Browser;
  requestId: string;
}

export class SamlTest {
  private constructor(
    readonly t: TestService,
    readonly key: SamlKey,
    readonly admin: Actor,
    readonly domain: string,
    readonly providerId: string,
  ) {}

  /** Starts a service with one company, whose enabled provider may create users. */
  static async start(): Promise<SamlTest> {
    const { t } = await OpenIdTest.start();
    const key = await makeSamlKey();
    const admin = await t.actor({ permissions: ["manage:sign-in", "read:users"] });
    const { id } = await accepted(
      admin.post("/api/v1/sign-in-providers", {
        kind: "Saml",
        name: "Id",
        entityId: ISSUER,
        signInUrl: "https://idp.test/sso",
        certificates: [{ pem: key.certificate }],
        createsUsers: true,
      }),
      201,
    );
    await accepted(admin.post(`/api/v1/sign-in-providers/${id}/enable`));
    const name = `${newId()}.example.com`;
    const { id: domainId } = await accepted(admin.post("/api/v1/sign-in-domains", { name }), 201);
    await t.steward.platform.sql`update sign_in_domains set status = 'Verified' where id = ${domainId}`;
    return new SamlTest(t, key, admin, name, id);
  }

  get at(): string {
    return `${PUBLIC_URL}/api/v1/auth/saml/${this.providerId}`;
  }

  newBrowser = (): Browser => new Browser({ [PUBLIC_URL]: this.t.url });

  begin = async (query: Record<string, string> = {}, browser = this.newBrowser()): Promise<SamlFlow> => {
    const answer = await browser.visit(`${this.at}?${new URLSearchParams(query)}`);
    assert.equal(answer.status, 302, await answer.text());
    return { browser, requestId: requestOf(answer.headers.get("location") ?? "").id };
  };

  /** A signed answer to a request. */
  answer = (requestId: string, change: Partial<AnswerParts> = {}): string =>
    goodAnswer({
      issuer: ISSUER,
      acsUrl: `${this.at}/acs`,
      audience: `${this.at}/metadata`,
      inResponseTo: requestId,
      now: this.t.steward.platform.clock.now(),
      nameId: `subject-${newId()}`,
      ...change,
    }, this.key);

  /** Brings an answer as the provider's page does: by a form without cookies. */
  post = async (xml: string): Promise<Outcome> =>
    await readOutcome(await this.newBrowser().visit(`${this.at}/acs`, { SAMLResponse: base64(xml) }));

  /** Brings an answer, and follows the redirect with the browser of the sign-in. */
  finish = async ({ browser }: Pick<SamlFlow, "browser">, xml: string) => {
    const { status, location, body } = await this.post(xml);
    assert.equal(status, 303, JSON.stringify(body));
    return await readOutcome(await browser.visit(location));
  };
}

/** The values of a page's hidden fields. */
export const fieldsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(html.matchAll(/<input[^>]*>/g), ([input]) => {
      const of = (name: string) =>
        new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1]?.replaceAll("&amp;", "&") ?? "";
      return [of("name"), of("value")];
    }),
  );
