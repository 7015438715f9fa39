import type { Child } from "hono/jsx";
import type { Api } from "./api.ts";
import type { Locale } from "./languages.ts";

/** Who looks, where, and how they like it. */
export interface Viewer {
  userId: string;
  email: string;
  name: string;
  tenant: { id: string; name: string; type: string } | null;
  /** Tenants they may switch to. */
  tenants: { id: string; name: string; type: string }[];
  permissions: ReadonlySet<string>;
}

export type Theme = "auto" | "light" | "dark";

/** One visit of a page: everything a page may use. */
export interface Visit {
  viewer: Viewer;
  api: Api;
  params: Record<string, string>;
  query: URLSearchParams;
  /** The page's own address under /console, with its query. */
  address: string;
  locale: Locale;
  /** IANA name; UTC until the browser has told its own. */
  timeZone: string;
  theme: Theme;
  /** Must come back with every form. */
  csrf: string;
  /** What the last action came to, shown once. */
  flash: Flash | null;
  /** What the session's cookie holds: for what changes the session itself, and never shown. */
  secret: string;
  /** Aborted when the browser goes away. */
  signal: AbortSignal;
  now: Date;
}

export interface Flash {
  tone: "ok" | "bad";
  text: string;
}

/** A page to show. */
export interface View {
  title: string;
  body: Child;
  /** Links from the section's root down to this page. */
  crumbs?: { href: string; label: string }[];
  /** Buttons beside the title. */
  actions?: Child;
  /** Scripts of this page alone, by the names of assets. */
  scripts?: string[];
  status?: number;
}

/** What a page answers: something to show, a way to go, or a ready response. */
export type Outcome = View | { goTo: string; flash?: Flash } | Response;

/** One address of the console. Pages are shown by `get`; `post` does what a form of theirs asks for. */
export interface ConsolePage {
  /** Under /console, without a leading slash, parameters in braces: `jobs/{id}`. */
  path: string;
  /** Any one of these permissions opens the page; none: every signed-in viewer. */
  permissions?: string[];
  get?(v: Visit): Promise<Outcome> | Outcome;
  post?(v: Visit, form: FormData): Promise<Outcome> | Outcome;
}

/** One entry of the navigation, shown to those who may open it. */
export interface NavItem {
  path: string;
  label: Record<Locale, string>;
  icon: string;
  permissions?: string[];
  /** True where a tenant must have been chosen. */
  needsTenant?: boolean;
}

/** A part of the console: its pages and what leads to them. */
export interface ConsoleSection {
  /** Stands above its entries in the navigation; absent: they stand alone. */
  title?: Record<Locale, string>;
  nav: NavItem[];
  pages: ConsolePage[];
}

/** May the viewer do what needs `permission`, by itself or through admin:system? */
export const may = ({ permissions }: Viewer, permission: string): boolean =>
  permissions.has(permission) || permissions.has("admin:system");

/** Like `may`, for the file module, where admin:system stands in for nothing. */
export const mayInFiles = ({ permissions }: Viewer, permission: string): boolean =>
  permissions.has(permission);

/** A text field of a form, trimmed; empty where it was not sent. */
export function field(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** The same, undefined where empty: the API then uses its default. */
export const optionalField = (form: FormData, name: string): string | undefined =>
  field(form, name) || undefined;
