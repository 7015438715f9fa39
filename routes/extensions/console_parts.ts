import type { ValueFormat } from "../../domain/records/members.ts";
import type { Html } from "./html.ts";

/** A text in the languages of the console. */
export interface ConsoleText {
  en: string;
  pt: string;
}

/** The viewer of a card or page. */
export interface ConsoleVisit {
  language: keyof ConsoleText;
  /** IANA name. */
  timeZone: string;
  userId: string;
  /** The tenant in which the viewer is. */
  tenantId: string;
  /** True if the viewer holds the permission. */
  may(permission: string): boolean;
  /** A number in the viewer's language. */
  format(value: number | string, format: ValueFormat): string;
  /**
   * Calls a route of the extension or of its records as the viewer, with the viewer's rights and tenant.
   * @param operation its operation id
   * @returns the JSON of the answer
   * @throws Error with `status`, `code` and `detail` if the route refuses; a page that does not catch it shows the refusal
   */
  call<Answer = unknown>(operation: string, input?: RouteCall): Promise<Answer>;
}

/** The input of a route. */
export interface RouteCall {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | null | undefined | string[]>;
  body?: unknown;
  ifMatch?: string;
}

/** A card on the overview: numbers, a chart, or both. */
export interface ExtensionCard {
  title: ConsoleText;
  /** The permission to see it. */
  permission: string;
  /** The overview does not wait for a slow answer: the card then says that its numbers did not come in time. */
  read(visit: ConsoleVisit): Promise<CardContent>;
}

/** The content of a card. */
export interface CardContent {
  numbers?: {
    label: string;
    value: number | string;
    format?: ValueFormat;
    tone?: CardTone;
    /** A page of the console, such as `invoices?status=Sent`. */
    href?: string;
  }[];
  /** Stacked bars. Each series has a value for each name. */
  chart?: {
    label: string;
    names: string[];
    series: { label: string; tone?: CardTone; values: number[] }[];
    format?: ValueFormat;
  };
}

export type CardTone = "ok" | "warn" | "bad" | "info" | "idle";

/** A page of free HTML in the frame of the console. */
export interface ExtensionPage {
  /** Below `/console/x/EXTENSION/`, with parameters in braces: `customers/{id}`. */
  path: string;
  title: ConsoleText;
  /** The permission to open it. */
  permission: string;
  /** True if the navigation lists it. Such a path has no parameters. */
  isInNavigation?: boolean;
  render(visit: PageVisit): Html | Promise<Html>;
  /** Runs a form of the page. It answers the page with the form, or a message with the page to go to. */
  submit?(visit: PageVisit, form: FormData): Promise<Html | PageMessage>;
  /** A script and a style sheet for this page, as `new URL("./page.js", import.meta.url)`. */
  script?: URL;
  style?: URL;
}

/** The request for a page. */
export interface PageVisit extends ConsoleVisit {
  params: Record<string, string>;
  query: URLSearchParams;
  /** The path of the page, for the `action` of its forms. */
  path: string;
  /** A hidden input. Every form of the page must contain it. */
  csrf: Html;
}

/** The result of a form. */
export interface PageMessage {
  message: ConsoleText;
  /** A page of the console; absent: the page itself. */
  goTo?: string;
}
