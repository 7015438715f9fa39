import { Buffer } from "node:buffer";
import { freePort } from "../../infra/embedded/free_port.ts";
import { findProgram, startQuietly } from "./processes.ts";

/** Settings of a private clamd; sizes as clamd writes them (`2M`). */
export interface ClamdSettings {
  streamMaxLength?: string;
  readTimeoutSeconds?: number;
  extra?: string[];
}

export type TestClamd = Awaited<ReturnType<typeof startClamd>>;

const binary = findProgram("clamd");

/** Whether ClamAV's daemon is installed on this machine; tests that need it are skipped otherwise. */
export const clamdInstalled = binary !== undefined;

/**
 * Starts clamd on a free loopback port with one signature, the MD5 of the EICAR test file, and waits until it answers.
 * Throws an error with clamd's output if it does not start.
 */
export async function startClamd(settings: ClamdSettings = {}) {
  if (binary === undefined) throw new Error("clamd is not installed");
  const folder = await Deno.makeTempDir({ prefix: "clamd-" });
  const port = freePort();
  await Deno.mkdir(`${folder}/db`);
  await Deno.writeTextFile(
    `${folder}/db/eicar.hdb`,
    "44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test-Signature\n",
  );
  await Deno.writeTextFile(`${folder}/clamd.conf`, configuration(folder, port, settings));
  const process = startQuietly(binary, ["-c", `${folder}/clamd.conf`]);
  let running = true;
  process.status.then(() => running = false);
  const stop = async () => {
    if (running) process.kill("SIGKILL");
    await process.status;
    await Deno.remove(folder, { recursive: true });
  };
  while (!await answersPing(port)) {
    if (running) continue;
    const log = await Deno.readTextFile(`${folder}/clamd.log`).catch(() => "(no log)");
    await stop();
    throw new Error(`clamd did not start: ${log}`);
  }
  return { host: "127.0.0.1", port, kill: (signal: Deno.Signal) => process.kill(signal), stop };
}

function configuration(folder: string, port: number, settings: ClamdSettings): string {
  return [
    `DatabaseDirectory ${folder}/db`,
    `TemporaryDirectory ${folder}`,
    `LogFile ${folder}/clamd.log`,
    `TCPSocket ${port}`,
    "TCPAddr 127.0.0.1",
    "Foreground true",
    "MaxThreads 4",
    `StreamMaxLength ${settings.streamMaxLength ?? "2M"}`,
    `ReadTimeout ${settings.readTimeoutSeconds ?? 30}`,
    ...(Deno.uid() === 0 ? ["User root"] : []),
    ...(settings.extra ?? []),
    "",
  ].join("\n");
}

async function answersPing(port: number): Promise<boolean> {
  try {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port });
    await conn.write(new TextEncoder().encode("zPING\0"));
    const answer = new Uint8Array(5);
    const length = await conn.read(answer);
    return new TextDecoder().decode(answer.subarray(0, length ?? 0)) === "PONG\0";
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return false;
  }
}

const INSTREAM = "zINSTREAM\0";

/** A scan engine with clamd's protocol that calls everything clean. */
export function engineLikeClamd() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let scans = 0;
  const answer = async (conn: Deno.TcpConn) => {
    let rest = Buffer.alloc(0);
    const buffer = new Uint8Array(65_536);
    const say = (text: string) => conn.write(new TextEncoder().encode(text));
    for (let read = await conn.read(buffer); read !== null; read = await conn.read(buffer)) {
      rest = Buffer.concat([rest, buffer.subarray(0, read)]);
      if (rest.indexOf("zVERSION\0") === 0) await say("ClamAV 1.4.6\0");
      if (rest.indexOf(INSTREAM) === 0) rest = rest.subarray(INSTREAM.length);
      // An empty frame ends the content.
      for (let length; rest.length >= 4 && rest.length >= 4 + (length = rest.readUInt32BE());) {
        rest = rest.subarray(4 + length);
        if (length > 0) continue;
        scans++;
        await say("stream: OK\0");
      }
    }
  };
  (async () => {
    for await (const conn of listener) answer(conn).catch(() => {}).finally(() => conn.close());
  })();
  return {
    port: listener.addr.port,
    /** How many contents were received wholly and called clean. */
    scans: () => scans,
    close: () => listener.close(),
  };
}
