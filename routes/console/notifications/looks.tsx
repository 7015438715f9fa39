import { readableTextOn } from "../../../domain/looks/colours.ts";
import { mailDocument } from "../../../domain/looks/mail_document.ts";
import { Fields, Form } from "../components/fields.tsx";
import { actionButton, CsrfField, FileField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { LivePreview, logoData, previewPages, type RenderedMessage } from "./live_preview.tsx";
import { actionsOf, done, formPage, sendTo } from "../shared/actions.ts";
import type { Answer } from "../shared/operations.ts";
import { type ConsolePage, field, may, type Visit } from "../shared/page.ts";
import { looksTexts } from "./texts.ts";

const managedBy = "manage:settings";
type Looks = Answer<"readTenantLooks">;

/** Texts as typed; empty ones restore the service's value. Browsers send a line break as CRLF. */
const bodyOf = (form: FormData) => ({
  productName: field(form, "productName") || null,
  primaryColour: field(form, "primaryColour") || null,
  textColour: field(form, "textColour") || null,
  footer: field(form, "footer").replaceAll("\r\n", "\n") || null,
  replyTo: field(form, "replyTo") || null,
});

const COLOUR = /^#[0-9a-f]{6}$/i;

/** A sample mail in the looks of the form. Wrong colours are shown as the present ones, until the form is sent. */
async function sampleMail(v: Visit, form: FormData): Promise<RenderedMessage> {
  const t = looksTexts[v.locale];
  const { effective, logo } = await v.api.call("readTenantLooks");
  const typed = bodyOf(form);
  const colour = (text: string | null, otherwise: string) => text && COLOUR.test(text) ? text : otherwise;
  const primaryColour = colour(typed.primaryColour, effective.primaryColour);
  const looks = {
    ...effective,
    logo: logo && { ...logo, tag: "" },
    productName: typed.productName ?? effective.productName,
    primaryColour,
    textColour: colour(typed.textColour, readableTextOn(primaryColour)),
    footer: typed.footer ?? "",
  };
  const html =
    `<h1>${t.sampleTitle}</h1><p>${t.sampleText}</p><p><a class="button" href="#">${t.sampleButton}</a></p>`;
  const document = mailDocument(html, looks, {
    title: t.sampleTitle,
    logoUrl: logo && await logoData(v),
    language: v.locale,
  });
  return { subject: t.sampleTitle, htmlBody: document, textBody: null };
}

/** The looks of the tenant, with a preview of a mail. */
export const looksPages: ConsolePage[] = [
  formPage({
    path: "looks",
    managedBy,
    restarts: true,
    async show(v, sent) {
      const t = looksTexts[v.locale];
      const { value, etag } = await v.api.versioned("readTenantLooks");
      const f = new Fields(v, sent, "updateTenantLooks", { ...value, etag });
      const { effective, logo } = value;
      const isManager = may(v.viewer, managedBy);
      return {
        title: t.title,
        body: (
          <div class="stack">
            <p class="muted">{t.intro}</p>
            <Card>
              <Form fields={f} action="looks" readOnly={!isManager}>
                {f.text("productName", t.productName, { placeholder: effective.productName })}
                <div class="pair">
                  {f.text("primaryColour", t.primaryColour, {
                    placeholder: effective.primaryColour,
                    hint: t.colourHint,
                  })}
                  {f.text("textColour", t.textColour, {
                    placeholder: effective.textColour,
                    hint: t.textColourHint,
                  })}
                </div>
                {f.area("footer", t.footer, { rows: 3 })}
                {f.text("replyTo", t.replyTo, { type: "email" })}
                {isManager && <LivePreview v={v} action="looks/preview" />}
              </Form>
            </Card>
            {isManager && <LogoCard v={v} logo={logo} />}
          </div>
        ),
      };
    },
    send: sendTo("updateTenantLooks", bodyOf, (v) => done("looks", looksTexts[v.locale].saved)),
  }),
  ...previewPages("looks/preview", sampleMail),
  {
    path: "looks/logo",
    permissions: [managedBy],
    async post(v, form) {
      const file = form.get("logo");
      const content = file instanceof File ? file : new File([], "");
      await v.api.call("setTenantLogo", {
        body: new Uint8Array(await content.arrayBuffer()),
        headers: { "content-type": content.type || "application/octet-stream" },
      } as never);
      return done("looks", looksTexts[v.locale].logoSet);
    },
  },
  ...actionsOf("looks", looksTexts, { "logo/remove": ["removeTenantLogo", "logoRemoved"] }, [managedBy]),
];

function LogoCard({ v, logo }: { v: Visit; logo: Looks["logo"] }) {
  const t = looksTexts[v.locale];
  return (
    <Card title={t.logo}>
      {logo && <p class="muted">{`${t.size}: ${logo.width} × ${logo.height}`}</p>}
      <form class="form" method="post" action="looks/logo" enctype="multipart/form-data">
        <CsrfField v={v} />
        <FileField label={t.chooseLogo} name="logo" accept="image/png,image/jpeg" hint={t.logoHint} />
        <div class="row">
          <button type="submit" class="button">{t.setLogo}</button>
        </div>
      </form>
      {logo && actionButton(v, "looks/logo/remove", t.removeLogo, { confirm: t.removeLogoConfirm })}
    </Card>
  );
}
