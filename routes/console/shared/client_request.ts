/** The address from which the OpenID provider sends users to the sign-in and to which it expects them back; relative to the console. */
export const PROVIDER_PAGE = "../oauth/authorize?";

/** The parameter of a client's request with the languages that it asks for. */
export const UI_LOCALES = "ui_locales";

/** The request of a client that `to` leads back to; null if `to` is no such address. */
export const clientRequestOf = (to: string | null): URLSearchParams | null =>
  to?.startsWith(PROVIDER_PAGE) && !/[#\\]/.test(to)
    ? new URLSearchParams(to.slice(PROVIDER_PAGE.length))
    : null;
