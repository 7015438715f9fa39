import type { Child } from "hono/jsx";
import type { ActingSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor } from "../../../domain/audit/audit.ts";
import type { SavedFilter } from "../../../domain/console/saved_filters.ts";
import { hasLongNumber, parseExactly } from "../../../domain/shared/exact_json.ts";
import { isShallow } from "../../../domain/shared/storable.ts";
import type { AreaName } from "../../../infra/areas.ts";
import type { Log } from "../../../infra/log.ts";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import type { Api, Page } from "./api.ts";
import type { Asset } from "./assets.ts";
import { inEveryLanguage, type Locale, type Translated, translated } from "./languages.ts";
import type { Flash, Result, Theme } from "./looks.ts";

/** The signed-in user of a request and their permissions in the current tenant. */
export interface Viewer {
  userId: string;
  email: string;
  name: string;
  /** The current tenant; null while none is chosen. */
  tenant: { id: string; name: string; type: string } | null;
  /** True if the user may switch to another tenant; `ownTenants` finds them. */
  hasOtherTenants: boolean;
  /** True if the user is linked to the platform tenant, and so may see the whole service. */
  isInPlatform: boolean;
  /** The platform tenant, if the user is linked to it. */
  platformId?: string | undefined;
  permissions: ReadonlySet<string>;
  /** The permissions that open nothing, because their areas are off. admin:system does not include them. */
  unserved?: ReadonlySet<string>;
  /** A second factor is required and the session lacks it: only pages `forEnrolling` open. */
  isLimited?: true;
}

/** One request for a page, with everything a page may use. */
export interface Visit {
  viewer: Viewer;
  api: Api;
  params: Record<string, string>;
  query: URLSearchParams;
  /** The viewer is a user as whom another one acts, or an administrator who works in a tenant; null: neither. */
  acting: Pick<ActingSession, "sessionId" | "actorId" | "mayWrite" | "expiresAt"> | null;
  /** The tenant whose own provider signed the viewer in, and beyond which the session reaches nothing; null: another sign-in. */
  boundTo: string | null;
  /** The actor of the audit rows for changes that a page makes without the API. */
  actor: NonNullable<Actor>;
  /** The looks of a page for who has a set-up link instead of a session; null: a page of the console. */
  hosted: HostedLooks | null;
  /** The public address of the service, without a slash at its end. */
  baseUrl: string;
  /** The page's path under /console, with its query. */
  address: string;
  /** The tenant whose data the pages show; null: the whole service. See `scopeAt`. */
  scope: { id: string; name: string } | null;
  /** The navigation entries that the viewer may open. */
  nav: NavGroup[];
  /** The cards of extensions on the overview that the viewer may see. */
  cards: OverviewCard[];
  log: Log;
  /** Names of the hints that the user has dismissed in this browser. */
  dismissed: ReadonlySet<string>;
  /** An API client in another scope of the viewer; null: without a tenant. */
  inScope(tenantId: string | null): Promise<Api>;
  locale: Locale;
  /** IANA name from a cookie that console.js sets; UTC until then. */
  timeZone: string;
  theme: Theme;
  /** The value that every form must send as `csrf`: a CSRF token, and the tenant that the viewer is in. */
  csrf: string;
  /** Result of the last action, shown once. */
  flash: Flash | null;
  /** The session secret from the cookie, for actions that change the session. Never show it. */
  secret: string;
  /** Aborted when the browser disconnects. */
  signal: AbortSignal;
  now: Date;
  /** The filters of this list, or another one, that the viewer saved. */
  readSavedFilters(list?: string): Promise<SavedFilter[]>;
  /** The names of the schedules of report runs that the API has shown to the viewer, by run; not of other runs. */
  readScheduleNames(runIds: string[]): Promise<Map<string, string>>;
  /** Set while the rows of a list are read for CSV or an action. `list` then passes its rows to it and renders nothing. */
  collect?: (part: ListRows) => void;
}

/** A link of the breadcrumb. */
export interface Crumb {
  href: string;
  label: string;
}

/** A page to show. */
export interface View {
  title: string;
  /** Name of the tenant whose object the page shows; absent: `scope.ts` derives it from the page's area. */
  scope?: string | null | undefined;
  body: Child;
  /** Breadcrumb links from the section's root to this page; absent: the entry of the navigation above the page. */
  crumbs?: Crumb[] | undefined;
  /** Buttons beside the title. */
  actions?: Child;
  /** Names of script and style assets that only this page needs. */
  scripts?: string[];
  styles?: string[];
  status?: number;
}

/** Result of a page: a view to render, a redirect, or a complete response. */
export type Outcome = View | { goTo: string; flash?: Result } | Response;

/** One page of the rows of a list, with its columns, for CSV and actions on many rows. */
export interface ListRows {
  page: Page<unknown>;
  columns: ShownColumn[];
}

/** A column of a list: its heading, and the cell of a row. */
export interface ShownColumn<T = unknown> {
  head: string;
  cell(row: T): Child;
  /** The value in CSV; absent: the text of the cell. */
  csv?(row: T): string;
  /** Values on a line below that of the cell. In CSV each has a column of its own. */
  below?: [head: string, cell: (row: T) => Child][];
}

/** An action on many rows of a list. */
export interface RowAction<T = unknown> {
  /** Label of its button: "Retry". */
  label(v: Visit): string;
  /** The question after counting: "Retry 648 jobs?" */
  question(v: Visit, count: number): string;
  tone?: "danger";
  /** Any one of these permissions offers it; absent: every viewer of the list. The API checks each row. */
  permissions?: string[];
  /** Decides instead of `permissions`. */
  isOffered?(v: Visit): boolean;
  /** The rows that it applies to; absent: all. */
  fits?(row: T, v: Visit): boolean;
  /** Inputs that the question needs, such as a role or a reason. */
  fields?(v: Visit): Child | Promise<Child>;
  /** Shows what the action would do to these rows, before it starts. */
  review?(v: Visit, ids: string[], fields: Record<string, string>): Child | Promise<Child>;
  /**
   * Runs the action for one row. `fields` has the values of the inputs. `once` is the Idempotency-Key of the row, for calls that
   * create something: after a crash they are repeated.
   */
  run(v: Visit, id: string, fields: Record<string, string>, once: string): Promise<unknown>;
}

/** The actions of a list, by the name that its form sends. */
export type RowActions = Record<string, RowAction>;

/** One path of the console. `get` shows the page; `post` runs the action of a form. */
export interface ConsolePage {
  /** Under /console, without a leading slash, parameters in braces: `jobs/{id}`. */
  path: string;
  /** Any one of these permissions opens the page. Absent: every signed-in viewer may open it. */
  permissions?: string[];
  /** The area of the product that it belongs to; null: none, absent: that of its section. */
  area?: AreaName | null;
  /** True if it also opens for a session that lacks a required second factor. */
  forEnrolling?: true;
  /** True if its form has the same effect in every tenant, so that it is accepted after a switch of the tenant. */
  fitsEveryTenant?: true;
  /** True if the form acts in the scope of the page, also in a tenant that the viewer only looks at. */
  actsInScope?: true;
  /** The actions on many rows of its list. */
  bulk?: RowActions;
  get?(v: Visit): Promise<Outcome> | Outcome;
  post?(v: Visit, form: FormData): Promise<Outcome> | Outcome;
}

/** One navigation entry. It is shown only to viewers who may open it. */
export interface NavItem {
  path: string;
  label: Record<Locale, string>;
  icon: string;
  /** Any one of these permissions shows it; absent: those of the page at its path. */
  permissions?: string[];
  /** True if the pages work only in a chosen tenant. */
  needsTenant?: boolean;
}

/** A navigation entry whose label is the text `key`. */
export const navItem = <Key extends string>(
  texts: Record<Locale, Record<Key, string>>,
  key: Key,
  item: Omit<NavItem, "label">,
): NavItem => ({ label: inEveryLanguage(texts, key), ...item });

/** Navigation entries under one heading. */
export interface NavGroup {
  title: string | null;
  items: NavItem[];
}

/** First path segment of the pages of extensions. They work only in a chosen tenant. */
export const EXTENSION_PAGES = "x";

/** A card of an extension on the overview. */
export interface OverviewCard {
  permissions: string[];
  /** @param page the other parts of the overview: a card may take a little longer than they do. It never fails. */
  render(v: Visit, page: Promise<unknown>): Promise<Child>;
}

/** A section of the console: its pages and navigation entries. */
export interface ConsoleSection {
  /** The area of the product that it belongs to; absent: none, so that it is always shown. */
  area?: AreaName;
  /** Heading above its navigation entries, shared by sections with the same title; absent: no heading, before all others. */
  title?: Record<Locale, string>;
  nav: NavItem[];
  pages: ConsolePage[];
  cards?: OverviewCard[];
  /** Scripts and styles of the pages, by name. */
  assets?: [name: string, asset: Asset][];
}

/** True if the viewer holds `permission` or admin:system. */
export const may = ({ permissions, unserved }: Viewer, permission: string): boolean =>
  permissions.has(permission) || (permissions.has("admin:system") && !unserved?.has(permission));

/**
 * True if the viewer may open a page: any one of its permissions is enough. admin:system includes all but those of the file
 * module.
 */
export const mayOpen = (
  o: Pick<ConsolePage & NavItem, "permissions" | "needsTenant">,
  viewer: Viewer,
): boolean =>
  (!o.needsTenant || viewer.tenant !== null) &&
  (!o.permissions?.length ||
    o.permissions.some((permission) =>
      viewer.permissions.has(permission) ||
      (may(viewer, permission) && !permission.endsWith(":files"))
    ));

/** True if the viewer holds a file permission. In the file module admin:system does not replace it. */
export const mayInFiles = ({ permissions }: Viewer, permission: string): boolean =>
  permissions.has(permission);

/** True if the navigation of the viewer has the pages under `path`. */
export const isOpen = (v: Pick<Visit, "nav">, path: string): boolean =>
  v.nav.some(({ items }) => items.some((item) => item.path === path));

/** A text field of a form, trimmed; "" if it was not sent. */
export function field(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** A text of several lines, as it was typed. Browsers send a line break as CRLF. */
export const typedText = (form: FormData, name: string): string =>
  String(form.get(name) ?? "").replaceAll("\r\n", "\n");

/** Several text fields of a form, by name. */
export const fieldsIn = <Name extends string>(form: FormData, ...names: Name[]): Record<Name, string> =>
  Object.fromEntries(names.map((name) => [name, field(form, name)])) as Record<Name, string>;

/** A text field of a form, trimmed; undefined if it is empty, so that the API uses its default. */
export const optionalField = (form: FormData, name: string): string | undefined =>
  field(form, name) || undefined;

/** An action on many rows as a page declares it: with its texts as pairs. */
interface DeclaredAction<T> extends Omit<RowAction<T>, "label" | "question"> {
  label: Translated;
  question(count: number): Translated;
}

/** Declares the actions of a list with rows of type `T`, whose `id` is what `run` gets. */
export const rowActions = <T>(actions: Record<string, DeclaredAction<T>>): RowActions =>
  Object.fromEntries(
    Object.entries(actions).map(([name, { label, question, ...action }]) => [name, {
      ...action,
      label: ({ locale }: Visit) => translated(label, locale),
      question: ({ locale }: Visit, count: number) => translated(question(count), locale),
    }]),
  ) as unknown as RowActions;

/** The actions that the viewer may use. */
export const offeredActions = (v: Visit, actions: RowActions): [string, RowAction][] =>
  Object.entries(actions).filter(([, { permissions, isOffered }]) =>
    isOffered ? isOffered(v) : !permissions || permissions.some((permission) => may(v.viewer, permission))
  );

/** The value of a JSON text, with its numbers as `parseExactly` returns them; undefined: it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    const value = JSON.parse(text);
    return hasLongNumber(text) && isShallow(value) ? parseExactly(text) : value;
  } catch {
    return undefined;
  }
}
