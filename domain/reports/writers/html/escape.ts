import { escapeUTF8 } from "entities/escape";

/** Escapes text. HTML does not allow control characters, so they become the replacement character. */
export const escape = (text: string): string => escapeUTF8(text).replaceAll(/(?![\t\n\r])\p{Cc}/gu, "\ufffd");
