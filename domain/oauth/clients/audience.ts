import { withoutAtEnd } from "../../shared/without_at_end.ts";

/** The audience as it is compared: without slashes at its end. */
export const withoutSlash = (audience: string): string => withoutAtEnd(audience, "/");

/** Do two audiences name the same API? A trailing slash makes no difference, because libraries add and remove it. */
export const isSameAudience = (one: string, other: string): boolean =>
  withoutSlash(one) === withoutSlash(other);
