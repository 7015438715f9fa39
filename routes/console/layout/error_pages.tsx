import type { Child } from "hono/jsx";
import { formatter } from "../../../domain/shared/formatters.ts";
import { NO_UUID } from "../../../domain/shared/shapes.ts";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { Notice } from "../components/notice.tsx";
import { maySwitch, scopeName } from "../scope/choices.ts";
import { findElsewhere, kindOf, type Place } from "../search/kinds.ts";
import type { Refusal } from "../shared/api.ts";
import { commonTexts, errorTexts } from "../shared/common_texts.ts";
import { FORMAT_TAGS, type Locale } from "../shared/languages.ts";
import type { View, Visit } from "../shared/page.ts";
import { entryAt } from "../shared/scope.ts";
import { translateValidation } from "../shared/translations.ts";

/** A page that does not exist, or not in the current scope. Names the viewer's scopes in which it exists. */
export async function notFoundView(v: Visit): Promise<View> {
  return errorView(v, {
    title: commonTexts[v.locale].notFound,
    status: 404,
    text: <p>{errorTexts[v.locale].notHere(scopeName(v))}</p>,
    places: await placesOf(v),
  });
}

/** A page that needs any one of `permissions`, none of which the viewer holds in the current scope. */
export async function forbiddenView(
  v: Visit,
  permissions: readonly string[],
  detail?: string,
): Promise<View> {
  const t = errorTexts[v.locale];
  const scope = scopeName(v);
  const list = formatter(Intl.ListFormat, FORMAT_TAGS[v.locale], { type: "disjunction" }).format(permissions);
  return errorView(v, {
    title: commonTexts[v.locale].forbidden,
    status: 403,
    text: [
      permissions.length > 0 && <p>{`${t.needs(list, scope)} ${t.askFor(scope)}`}</p>,
      detail && <p lang="en">{detail}</p>,
    ],
    places: await placesOf(v),
  });
}

/** A page that shows the data of one tenant, while none is chosen. */
export function needsTenantView(v: Visit): View {
  const { needsTenant, needsTenantText } = commonTexts[v.locale];
  return errorView(v, { title: needsTenant, status: 403, text: needsTenantText });
}

/** A form that this console did not show, or before the session changed. */
export const staleView = (v: Visit): View =>
  errorView(v, { title: commonTexts[v.locale].forbidden, status: 403, text: commonTexts[v.locale].stale });

/** The page of an error of the API. */
export async function refusalView(refusal: Refusal, v: Visit): Promise<View> {
  const t = commonTexts[v.locale];
  const { status, code, text, detail, traceId, needs } = refusal;
  if (status === 404 || isMalformedId(refusal, v.locale)) return await notFoundView(v);
  if (code === "FORBIDDEN" && v.viewer.tenant === null) return needsTenantView(v);
  if (code === "MISSING_PERMISSION" && needs.length > 0) return await forbiddenView(v, needs);
  if (status === 403) return await forbiddenView(v, [], detail);
  return {
    title: status >= 500 ? t.unavailable : t.failed,
    status,
    scope: null,
    body: [
      <Notice tone="bad" title={text}>
        <p lang="en">{detail}</p>
        <code>{code ?? status}</code> {traceId && <code>{traceId}</code>}
      </Notice>,
      <WaysOn v={v} />,
    ],
  };
}

/** The viewer's other scopes in which the thing exists whose page is asked for. */
async function placesOf(v: Visit): Promise<Place[]> {
  const kind = kindOf(v.address.split(/[/?]/)[0] ?? "");
  const { id } = v.params;
  return kind && id !== undefined ? await findElsewhere(v, kind, id) : [];
}

function errorView(v: Visit, { title, status, text, places = [] }: {
  title: string;
  status: number;
  text: Child;
  places?: Place[];
}): View {
  const t = errorTexts[v.locale];
  return {
    title,
    status,
    scope: null,
    body: [
      <Notice tone="info">
        {text}
        {places.map(({ name }) => <p>{t.existsIn(name)}</p>)}
      </Notice>,
      <WaysOn v={v}>
        {places.map(({ tenantId, name }) =>
          actionButton(v, "tenant", t.switchTo(name), {
            tone: "primary",
            fields: { tenantId, back: v.address },
          })
        )}
      </WaysOn>,
    ],
  };
}

/** Links from a page that the viewer cannot use. */
function WaysOn({ v, children }: { v: Visit; children?: Child }) {
  const t = errorTexts[v.locale];
  if (v.hosted) return <p>{buttonLink("set-up", commonTexts[v.locale].goBack)}</p>;
  const list = entryAt(v, v.address);
  const other = `scope?back=${encodeURIComponent(v.address)}`;
  return (
    <nav class="row" aria-label={t.goOn}>
      {children}
      {list && list.path !== v.address.split("?")[0] &&
        buttonLink(list.path, t.toList(list.label[v.locale]), { icon: list.icon })}
      {buttonLink("./", t.toOverview, { icon: "overview" })}
      {maySwitch(v) && buttonLink(other, t.switchTenant, { icon: "tenants" })}
      {buttonLink("search", t.search, { icon: "search" })}
    </nav>
  );
}

/** True if the API refused the id in the address because it is not a UUID. */
function isMalformedId({ status, fields }: Refusal, locale: Locale): boolean {
  const messages = Object.values(fields).flat();
  const expected = translateValidation(locale, NO_UUID);
  return status === 400 && messages.length > 0 && messages.every((message) => message === expected);
}
