import type { NewPasskeyInput } from "../../auth/factors.ts";
import { Fields, Form } from "../components/fields.tsx";
import {
  actionButton,
  buttonLink,
  CsrfField,
  deleteButton,
  FormRefusal,
  TextField,
} from "../components/forms.tsx";
import { actionsColumn, timeColumn } from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { PasskeyForm, passkeyOf } from "./proof_forms.tsx";
import { dataTable } from "../components/table.tsx";
import { Badge, bulletList, CopyValue } from "../components/values.tsx";
import { action, done, formPage, type Sent, showing } from "../shared/actions.ts";
import { clientRequestOf } from "../shared/request_security.ts";
import type { Answer } from "../shared/operations.ts";
import { type ConsolePage, field, type Outcome, type View, type Visit } from "../shared/page.ts";
import { factorTexts } from "./texts.ts";
import { encode } from "uqr";

const PATH = "account/security";
/** The address of a page about factors, with the client's request that the viewer came with. */
const at = (v: Visit, path: string): string => {
  const to = clientOf(v);
  return to === null ? path : `${path}?${new URLSearchParams({ to })}`;
};
/** The address that leads back to the client that sent the viewer; null if no client did. */
function clientOf({ query }: Visit): string | null {
  const to = query.get("to");
  return clientRequestOf(to) ? to : null;
}
const crumbs = (v: Visit) => [{ href: at(v, PATH), label: factorTexts[v.locale].security }];
type Factor = Answer<"listOwnFactors">["factors"][number];

/** The viewer's second factors. They also open for a session that lacks a required second factor. */
export const securityPages: ConsolePage[] = [
  { path: PATH, get: securityView },
  formPage({ path: `${PATH}/app`, show: appView, send: sendApp }),
  formPage({ path: `${PATH}/passkey`, show: passkeyView, send: sendPasskey, restarts: "always" }),
  {
    path: `${PATH}/recovery-codes`,
    post: async (v: Visit) => codesView(v, (await v.api.call("renewRecoveryCodes")).recoveryCodes),
  },
  action(`${PATH}/{id}/remove`, "removeFactor", showing(PATH, factorTexts, "factorRemoved")),
].map((page) => ({ ...page, forEnrolling: true }));

async function securityView(v: Visit): Promise<View> {
  const t = factorTexts[v.locale];
  const { factors, recoveryCodesLeft, isLimited } = await v.api.call("listOwnFactors");
  const hasFactor = factors.some(({ confirmedAt }) => confirmedAt !== null);
  const hasApp = factors.some(({ kind, confirmedAt }) => kind === "totp" && confirmedAt !== null);
  return {
    title: t.security,
    body: [
      isLimited && (
        <Notice tone="warn" title={t.required}>
          {hasFactor
            ? <a href={`step-up?${new URLSearchParams({ to: at(v, PATH) })}`}>{t.requiredProve}</a>
            : t.requiredText}
        </Notice>
      ),
      !isLimited && clientOf(v) && <GoOn v={v} />,
      <Card title={t.factors}>
        {dataTable(t.factors, factors, t.noFactors, [
          {
            head: t.name,
            cell: ({ kind, name, confirmedAt }) => (
              <>
                {kind === "totp" ? t.totp : name}{" "}
                {confirmedAt === null && <Badge tone="warn">{t.waiting}</Badge>}
              </>
            ),
          },
          { head: t.kind, cell: ({ kind }) => kind === "totp" ? t.totp : t.passkey, wideOnly: true },
          timeColumn<Factor>(v, t.added, "createdAt"),
          timeColumn<Factor>(v, t.lastUsed, "lastUsedAt"),
          actionsColumn(
            v,
            ({ id, kind, name }) =>
              deleteButton(v, `${PATH}/${id}/remove`, t.removeConfirm, {
                label: t.removeTitle(kind === "totp" ? t.totp : name),
              }),
          ),
        ])}
        <div class="row">
          {!hasApp && <StartAppButton v={v} />}
          {buttonLink(at(v, `${PATH}/passkey`), t.addPasskey, { icon: "plus" })}
        </div>
      </Card>,
      hasFactor && (
        <Card title={t.recoveryCodes}>
          <p>{t.codesLeft(recoveryCodesLeft)}</p>
          {actionButton(v, `${PATH}/recovery-codes`, t.newCodes, { confirm: t.newCodesConfirm })}
        </Card>
      ),
    ],
  };
}

/**
 * Before the first form is sent there is no secret: opening a page must change nothing. The secret of a refused form is
 * shown again, so that a mistyped code needs no new scan.
 */
function appView(v: Visit, sent: Sent | null): View {
  const t = factorTexts[v.locale];
  if (sent?.form?.get("do") === "confirm") {
    const text = (name: string) => String(sent.form?.get(name) ?? "");
    const started = { factorId: text("factorId"), secret: text("secret"), otpauthUrl: text("otpauthUrl") };
    return startedAppView(v, sent, started);
  }
  return {
    title: t.addApp,
    crumbs: crumbs(v),
    body: [
      <FormRefusal v={v} refusal={sent?.refusal ?? null} known={[]} />,
      <p>{t.appText}</p>,
      <StartAppButton v={v} />,
    ],
  };
}

const StartAppButton = ({ v }: { v: Visit }) =>
  actionButton(v, at(v, `${PATH}/app`), factorTexts[v.locale].addApp, {
    icon: "plus",
    tone: "primary",
    fields: { do: "start" },
  });

function startedAppView(v: Visit, sent: Sent | null, started: Answer<"startTotp">): View {
  const t = factorTexts[v.locale];
  const f = new Fields(v, sent, "confirmTotp");
  return {
    title: t.addApp,
    crumbs: crumbs(v),
    body: (
      <Form
        fields={f}
        action={at(v, `${PATH}/app`)}
        buttons={<button type="submit" class="button primary" name="do" value="confirm">{t.confirm}</button>}
      >
        <p>{t.appText}</p>
        <QrCode text={started.otpauthUrl} label={t.qrLabel} />
        <p>
          {t.secretLabel}: <CopyValue v={v} value={started.secret} />
        </p>
        {Object.entries(started).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
        {f.text("code", t.code, { autocomplete: "one-time-code", maxlength: 10, required: true })}
      </Form>
    ),
  };
}

async function sendApp(v: Visit, form: FormData): Promise<Outcome> {
  if (form.get("do") === "start") return startedAppView(v, null, await v.api.call("startTotp"));
  const body = { factorId: field(form, "factorId"), code: field(form, "code") };
  return codesView(v, (await v.api.call("confirmTotp", { body })).recoveryCodes);
}

async function passkeyView(v: Visit, sent: Sent | null): Promise<View> {
  const t = factorTexts[v.locale];
  const options = await v.api.call("startPasskey");
  return {
    title: t.addPasskey,
    crumbs: crumbs(v),
    scripts: ["passkey.js"],
    body: [
      <p>{t.passkeyText}</p>,
      sent?.refusal && (
        <Notice tone="bad" title={sent.refusal.text}>
          <span lang="en">{sent.refusal.detail}</span>
        </Notice>
      ),
      <PasskeyForm
        locale={v.locale}
        kind="create"
        action={at(v, `${PATH}/passkey`)}
        options={{ json: options }}
        label={t.createPasskey}
        value="create"
      >
        <CsrfField v={v} />
        <TextField
          label={t.passkeyName}
          name="name"
          hint={t.passkeyNameHint}
          value={t.passkey}
          maxlength={100}
          required
        />
      </PasskeyForm>,
    ],
  };
}

async function sendPasskey(v: Visit, form: FormData): Promise<Outcome> {
  const body = { name: field(form, "name"), passkey: passkeyOf<NewPasskeyInput>(form) };
  const { recoveryCodes } = await v.api.call("addPasskey", { body });
  return recoveryCodes ? codesView(v, recoveryCodes) : done(at(v, PATH), factorTexts[v.locale].passkeyAdded);
}

/** Back to the client that sent the viewer, else to the list of factors. */
const GoOn = ({ v }: { v: Visit }) => (
  <div>
    {buttonLink(clientOf(v) ?? PATH, factorTexts[v.locale].goOn, { tone: "primary" })}
  </div>
);

/** Recovery codes as the direct answer to a form: no address or cookie contains them. */
function codesView(v: Visit, codes: string[]): View {
  const t = factorTexts[v.locale];
  return {
    title: t.recoveryCodes,
    crumbs: crumbs(v),
    body: [
      <Notice tone="warn">{t.codesOnce}</Notice>,
      <Card title={t.recoveryCodes}>
        {bulletList(codes, (code) => <code>{code}</code>, { look: "plain" })}
      </Card>,
      <GoOn v={v} />,
    ],
  };
}

const QUIET = 4;
const PIXELS = 220;

/** A QR code as inline SVG, dark on light in every theme, so that cameras can read it. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 0 });
  const whole = size + 2 * QUIET;
  const modules = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])
  );
  return (
    <svg
      role="img"
      aria-label={label}
      width={PIXELS}
      height={PIXELS}
      viewBox={`0 0 ${whole} ${whole}`}
      shape-rendering="crispEdges"
    >
      <rect width={whole} height={whole} fill="#fff" />
      <path d={modules.join("")} fill="#000" />
    </svg>
  );
}
