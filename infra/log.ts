export type LogLevel = "debug" | "info" | "warn" | "error" | "off";
export type LogFields = Record<string, unknown>;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, off: 4 };
const SECRET_NAME =
  /pass(word|phrase)?|secret|token|authorization|cookie|api_?key|credential|object_?key|bucket/i;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/** It begins with a run of its characters that two others follow: searched from each `eyJ`, a long run takes quadratic time. */
const JWT = /(?<![\w-])(?=[\w-]+\.[\w-]+\.)((?:[\w-]*?-)??)eyJ[\w-]+\.[\w-]+\.[\w-]*/g;
const SIGNED_QUERY = /([?&](?:X-Amz-[A-Za-z-]+|sig|signature|token|code)=)[^&\s"']+/gi;
const OWN_SECRET = /\b(sk_|whsec_)[\w+/=-]{16,}/g;
const URL_PASSWORD = /(:\/\/[^\s:@/]*:)[^\s@/]+@/g;
const MAX_DEPTH = 6;

/** Writes JSON lines to stdout. Redacts fields with secret-like names, and tokens and signatures inside of any text. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a log that adds `fields` to every line. */
  with(fields: LogFields): Log;
}

/** Removes secrets from a text: bearer tokens, JWTs, API keys, URL passwords and signed query values. */
export function redactText(text: string): string {
  return text.replace(BEARER, "$1 [redacted]").replace(JWT, "$1[redacted]").replace(
    OWN_SECRET,
    "$1[redacted]",
  )
    .replace(SIGNED_QUERY, "$1[redacted]").replace(URL_PASSWORD, "$1[redacted]@");
}

function redact(name: string, value: unknown, depth = 0): unknown {
  if (SECRET_NAME.test(name)) return "[redacted]";
  if (typeof value === "string") return redactText(value);
  if (depth >= MAX_DEPTH && typeof value === "object" && value !== null) return "[deep]"; // also stops circular causes
  if (value instanceof Error) {
    return {
      name: value.name,
      message: redactText(value.message),
      stack: redactText(value.stack ?? ""),
      ...(value.cause === undefined ? {} : { cause: redact("cause", value.cause, depth + 1) }),
    };
  }
  if (typeof value === "bigint") return value.toString();
  if (value === null || typeof value !== "object" || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((item) => redact("", item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(key, item, depth + 1)]));
}

/** @param write receives one complete line, including its newline. Default: stdout. */
export function createLog(
  level: LogLevel,
  write: (line: string) => void = writeStdout,
  bound: LogFields = {},
): Log {
  const emit = (at: Exclude<LogLevel, "off">) => (message: string, fields: LogFields = {}) => {
    if (RANK[at] < RANK[level]) return;
    const line = { time: new Date().toISOString(), level: at, message: redactText(message) };
    const shown = redact("", { ...bound, ...fields }) as LogFields;
    write(JSON.stringify({ ...line, ...shown, ...line }) + "\n"); // no field replaces a member of the line
  };
  return {
    debug: emit("debug"),
    info: emit("info"),
    warn: emit("warn"),
    error: emit("error"),
    with: (fields) => createLog(level, write, { ...bound, ...fields }),
  };
}

const encoder = new TextEncoder();
function writeStdout(line: string): void {
  let bytes = encoder.encode(line);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}
