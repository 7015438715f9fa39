import type { z } from "zod";
import { chooseBrowserTenant } from "../../../domain/auth/browser_session.ts";
import { problem } from "../../../domain/problems/problem.ts";
import type { Platform } from "../../../domain/shared/platform.ts";
import type { OwnSessionDto, ProfileDto } from "../../auth/shapes.ts";
import { ActionButton, CsrfField, FormRefusal, TextField } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { type Column, DataTable } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { shared } from "../shared/console_words.ts";
import { cookieWriter, isLocale, isTheme } from "../shared/cookies.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { preferenceWords } from "../notifications/preference_words.ts";
import { words } from "./words.ts";

type Profile = z.output<typeof ProfileDto>;
type Session = z.output<typeof OwnSessionDto>;

/** The viewer's own account, and what the frame around every page does: tenant, looks, signing out. */
export function accountPages(p: Platform): ConsolePage[] {
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
        return { goTo: "account", flash: { tone: "ok", text: words[v.locale].sessionEnded } };
      },
    },
    {
      path: "tenant",
      async post(v, form) {
        const tenantId = optionalField(form, "tenantId") ?? null;
        if (tenantId !== null && !v.viewer.tenants.some(({ id }) => id === tenantId)) {
          throw problem("TENANT_FORBIDDEN", "The tenant is none the viewer may act in.");
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
  const w = words[v.locale];
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
    flash: { tone: "ok" as const, text: isPassword ? w.passwordChanged : w.profileSaved },
  };
}

async function accountView(v: Visit, refusal: Refusal | null = null, isPassword = false): Promise<View> {
  const w = words[v.locale];
  const [{ user, permissions }, sessions] = await Promise.all([
    v.api.get<Profile>("auth/me"),
    v.api.get<Session[]>("auth/sessions"),
  ]);
  const columns: Column<Session>[] = [
    {
      head: w.device,
      cell: (session) => (
        <>
          {session.userAgent ?? "–"} {session.isCurrent && <Badge tone="ok">{w.thisOne}</Badge>}
        </>
      ),
    },
    { head: w.address, cell: ({ ip }) => <span class="nowrap">{ip ?? "–"}</span>, wideOnly: true },
    { head: w.started, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: shared[v.locale].actions,
      align: "end",
      cell: ({ id, isCurrent }) =>
        !isCurrent && (
          <ActionButton
            v={v}
            action={`account/sessions/${id}`}
            label={w.endSession}
            tone="danger"
            confirm={w.endSessionConfirm}
          />
        ),
    },
  ];
  const errors = refusal?.fields ?? {};
  return {
    title: w.account,
    ...refusal ? { status: refusal.status } : {},
    body: (
      <>
        <div class="grid-2">
          <Card title={w.profile}>
            <FormRefusal
              refusal={isPassword ? null : refusal}
              known={["firstName", "lastName", "phoneNumber"]}
            />
            <form class="form" method="post" action="account">
              <CsrfField v={v} />
              <div class="pair">
                <TextField
                  label={w.firstName}
                  name="firstName"
                  value={user.firstName}
                  errors={errors.firstName}
                />
                <TextField
                  label={w.lastName}
                  name="lastName"
                  value={user.lastName}
                  errors={errors.lastName}
                />
              </div>
              <TextField
                label={w.phone}
                name="phoneNumber"
                type="tel"
                value={user.phoneNumber}
                errors={errors.phoneNumber}
              />
              <div>
                <button type="submit" class="button primary" name="do" value="profile">
                  {shared[v.locale].save}
                </button>
              </div>
            </form>
          </Card>
          <Card title={w.changePassword}>
            <FormRefusal refusal={isPassword ? refusal : null} known={["currentPassword", "newPassword"]} />
            <form class="form" method="post" action="account">
              <CsrfField v={v} />
              <TextField
                label={w.currentPassword}
                name="currentPassword"
                type="password"
                autocomplete="current-password"
                errors={errors.currentPassword}
                required
              />
              <TextField
                label={w.newPassword}
                name="newPassword"
                type="password"
                autocomplete="new-password"
                hint={w.passwordHint}
                errors={errors.newPassword}
                required
              />
              <div>
                <button type="submit" class="button" name="do" value="password">{w.changePassword}</button>
              </div>
            </form>
          </Card>
        </div>
        <Card title={preferenceWords[v.locale].title}>
          <a href="preferences">{preferenceWords[v.locale].open}</a>
        </Card>
        <Card title={w.sessions}>
          <DataTable caption={w.sessionsCaption} columns={columns} rows={sessions} empty={null} />
        </Card>
        <Card title={w.rights}>
          {permissions.length === 0
            ? <Empty icon="permissions" title={w.noRights} />
            : (
              <ul class="row tags" aria-label={w.rightsCaption}>
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
