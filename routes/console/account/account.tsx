import type { z } from "zod";
import { chooseBrowserTenant } from "../../../domain/access/sign_in/browser_session.ts";
import { problem } from "../../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import type { OwnSessionDto, ProfileDto } from "../../auth/shapes.ts";
import { ActionButton, CsrfField, FormRefusal, TextField } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { cookieWriter, isLocale, isTheme } from "../shared/cookies.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { preferenceTexts } from "../notifications/preference_texts.ts";
import { accountTexts } from "./texts.ts";

type Profile = z.output<typeof ProfileDto>;
type Session = z.output<typeof OwnSessionDto>;

/** Pages of the viewer's account, and the actions of the top bar: tenant, appearance, sign-out. */
export function accountPages(p: ServicePlatform): ConsolePage[] {
  const cookies = () => cookieWriter(new URL(p.baseUrl()));
  const seeOther = (to: string, ...setCookies: string[]) => {
    const headers = new Headers({
      location: `${new URL(p.baseUrl()).pathname.replace(/\/$/, "")}/console/${to}`,
      "cache-control": "no-store",
    });
    for (const cookie of setCookies) headers.append("set-cookie", cookie);
    return new Response(null, { status: 303, headers });
  };
  return [
    { path: "account", get: (v) => accountView(v), post: changeAccount },
    {
      path: "account/sessions/{id}",
      async post(v) {
        await v.api.send("DELETE", `auth/sessions/${v.params.id}`);
        return { goTo: "account", flash: { tone: "ok", text: accountTexts[v.locale].sessionEnded } };
      },
    },
    {
      path: "tenant",
      async post(v, form) {
        const tenantId = optionalField(form, "tenantId") ?? null;
        if (tenantId !== null && !v.viewer.tenants.some(({ id }) => id === tenantId)) {
          throw problem("TENANT_FORBIDDEN", "The viewer may not switch to this tenant.");
        }
        await chooseBrowserTenant(p, { secret: v.secret, userId: v.viewer.userId, tenantId });
        return { goTo: "" };
      },
    },
    {
      path: "look",
      post(_v, form) {
        const theme = field(form, "theme");
        const locale = field(form, "locale");
        const back = field(form, "back");
        return seeOther(
          /^[\w-][\w/.:?&=%+-]*$/.test(back) ? back : "",
          ...isTheme(theme) ? [cookies().preference("theme", theme)] : [],
          ...isLocale(locale) ? [cookies().preference("locale", locale)] : [],
        );
      },
    },
    {
      path: "sign-out",
      async post(v) {
        await v.api.send("POST", "auth/logout");
        return seeOther("sign-in", cookies().noSession());
      },
    },
  ];
}

async function changeAccount(v: Visit, form: FormData) {
  const t = accountTexts[v.locale];
  const isPassword = form.get("do") === "password";
  try {
    if (isPassword) {
      await v.api.send("POST", "auth/change-password", {
        currentPassword: String(form.get("currentPassword") ?? ""),
        newPassword: String(form.get("newPassword") ?? ""),
      });
    } else {
      await v.api.send("PUT", "auth/me", {
        firstName: field(form, "firstName"),
        lastName: field(form, "lastName"),
        phoneNumber: field(form, "phoneNumber"),
      });
    }
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.status === 400) {
      return await accountView(v, refusal, isPassword);
    }
    throw refusal;
  }
  return {
    goTo: "account",
    flash: { tone: "ok" as const, text: isPassword ? t.passwordChanged : t.profileSaved },
  };
}

async function accountView(v: Visit, refusal: Refusal | null = null, isPassword = false): Promise<View> {
  const t = accountTexts[v.locale];
  const [{ user, permissions }, sessions] = await Promise.all([
    v.api.get<Profile>("auth/me"),
    v.api.get<Session[]>("auth/sessions"),
  ]);
  const columns: Column<Session>[] = [
    {
      head: t.device,
      cell: (session) => (
        <>
          {session.userAgent ?? "–"} {session.isCurrent && <Badge tone="ok">{t.currentSession}</Badge>}
        </>
      ),
    },
    { head: t.address, cell: ({ ip }) => <span class="nowrap">{ip ?? "–"}</span>, wideOnly: true },
    { head: t.started, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: commonTexts[v.locale].actions,
      align: "end",
      cell: ({ id, isCurrent }) =>
        !isCurrent && (
          <ActionButton
            v={v}
            action={`account/sessions/${id}`}
            label={t.endSession}
            tone="danger"
            confirm={t.endSessionConfirm}
          />
        ),
    },
  ];
  const errors = refusal?.fields ?? {};
  return {
    title: t.account,
    ...refusal ? { status: refusal.status } : {},
    body: (
      <>
        <div class="grid-2">
          <Card title={t.profile}>
            <FormRefusal
              refusal={isPassword ? null : refusal}
              known={["firstName", "lastName", "phoneNumber"]}
            />
            <form class="form" method="post" action="account">
              <CsrfField v={v} />
              <div class="pair">
                <TextField
                  label={t.firstName}
                  name="firstName"
                  value={user.firstName}
                  errors={errors.firstName}
                />
                <TextField
                  label={t.lastName}
                  name="lastName"
                  value={user.lastName}
                  errors={errors.lastName}
                />
              </div>
              <TextField
                label={t.phone}
                name="phoneNumber"
                type="tel"
                value={user.phoneNumber}
                errors={errors.phoneNumber}
              />
              <div>
                <button type="submit" class="button primary" name="do" value="profile">
                  {commonTexts[v.locale].save}
                </button>
              </div>
            </form>
          </Card>
          <Card title={t.changePassword}>
            <FormRefusal refusal={isPassword ? refusal : null} known={["currentPassword", "newPassword"]} />
            <form class="form" method="post" action="account">
              <CsrfField v={v} />
              <TextField
                label={t.currentPassword}
                name="currentPassword"
                type="password"
                autocomplete="current-password"
                errors={errors.currentPassword}
                required
              />
              <TextField
                label={t.newPassword}
                name="newPassword"
                type="password"
                autocomplete="new-password"
                hint={t.passwordHint}
                errors={errors.newPassword}
                required
              />
              <div>
                <button type="submit" class="button" name="do" value="password">{t.changePassword}</button>
              </div>
            </form>
          </Card>
        </div>
        <Card title={preferenceTexts[v.locale].title}>
          <a href="preferences">{preferenceTexts[v.locale].open}</a>
        </Card>
        <Card title={t.sessions}>
          <DataTable caption={t.sessionsCaption} columns={columns} rows={sessions} empty={null} />
        </Card>
        <Card title={t.permissions}>
          {permissions.length === 0
            ? <Empty icon="permissions" title={t.noPermissions} />
            : (
              <ul class="row tags" aria-label={t.permissionsCaption}>
                {permissions.map((code) => (
                  <li>
                    <code>{code}</code>
                  </li>
                ))}
              </ul>
            )}
        </Card>
      </>
    ),
  };
}
