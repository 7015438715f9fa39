import { type ScannerStatus, ScanUnavailable, type ScanVerdict } from "./scanner.ts";

const maxAnswerBytes = 4096;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * Reads one answer of clamd, without its terminator. After a timeout, clamd ends its answer with a newline even to a `z`
 * command. So NUL and newline both end an answer.
 * @throws ScanUnavailable if the connection ends before the terminator
 */
export async function readAnswer(
  source: { read(into: Uint8Array): Promise<number | null> },
): Promise<string> {
  const answer = new Uint8Array(maxAnswerBytes);
  let length = 0;
  while (length < maxAnswerBytes) {
    const count = await source.read(answer.subarray(length));
    const text = () => new TextDecoder().decode(answer.subarray(0, length));
    if (count === null) {
      throw new ScanUnavailable(
        length === 0
          ? "clamd closed the connection without an answer"
          : `clamd closed the connection in the middle of its answer "${text()}"`,
      );
    }
    const end = answer.subarray(length, length + count).findIndex((byte) => byte === 0 || byte === 0x0a);
    length += end === -1 ? count : end;
    if (end !== -1) return text();
  }
  throw new ScanUnavailable(`clamd's answer has no end within ${maxAnswerBytes} bytes`);
}

/**
 * Parses clamd's answer to INSTREAM. Only `stream: OK` means clean. `Heuristics.Limits.Exceeded…` means that part
 * of the content was not scanned, so it is not a verdict.
 * @throws ScanUnavailable with the answer, if it is not a verdict
 */
export function parseVerdict(answer: string): ScanVerdict {
  if (answer === "stream: OK") return { verdict: "Clean" };
  const found = /^stream: (\S.*) FOUND$/.exec(answer)?.[1];
  if (found === undefined || found.startsWith("Heuristics.Limits.Exceeded")) {
    throw new ScanUnavailable(
      `clamd gave no verdict: it answered "${answer}" where "stream: OK" or "… FOUND" was expected`,
    );
  }
  return { verdict: "Infected", signatureName: found };
}

/**
 * Parses `ClamAV 1.4.6` and `ClamAV 1.4.6/3/Wed Jun 23 00:40:09 2021`. Without a signed database, clamd reports no
 * version of it. The date is in clamd's local time, without a time zone. It is read as UTC, which clamd's container
 * images use.
 */
export function parseVersion(answer: string): ScannerStatus {
  const [engine = "", databaseVersion, date] = answer.split("/");
  if (!/^ClamAV \S+$/.test(engine)) {
    throw new ScanUnavailable(`clamd answered "${answer}" to VERSION where "ClamAV <version>" was expected`);
  }
  return { engine, databaseVersion: databaseVersion || null, databaseDate: parseCtime(date ?? "") };
}

function parseCtime(text: string): Date | null {
  const parts = /^\w{3} (\w{3}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/.exec(text.trim());
  const month = months.indexOf(parts?.[1] ?? "");
  if (parts === null || month === -1) return null;
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = parts.slice(2).map(Number);
  return new Date(Date.UTC(year, month, day, hour, minute, second));
}
