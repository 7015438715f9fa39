/** Opens a connection to the service. */
export const connectTo = ({ url }: { url: string }): Promise<Deno.TcpConn> =>
  Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });

/** Sends bytes unchanged and reads the answer until the server closes or `until` matches. */
export async function sendRaw(service: { url: string }, text: string, until?: RegExp): Promise<string> {
  using connection = await connectTo(service);
  await connection.write(new TextEncoder().encode(text));
  let answer = "";
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const read = await connection.read(buffer).catch((error) => {
      if (error instanceof Deno.errors.ConnectionReset) return null;
      throw error;
    });
    if (read === null) return answer;
    answer += new TextDecoder().decode(buffer.subarray(0, read));
    if (until?.test(answer)) return answer;
  }
}
