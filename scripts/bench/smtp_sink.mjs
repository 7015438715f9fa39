// A mail server that takes everything and keeps nothing: `node smtp_sink.mjs`. Its HTTP port, which it prints, tells
// the SMTP port, how many messages it took, and when (ms since the epoch) it answered for the first and the last.
import { createServer } from "node:http";
import process from "node:process";
import { SMTPServer } from "smtp-server";

let taken = { messages: 0, firstAt: 0, lastAt: 0 };
const smtp = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  logger: false,
  onData(stream, _session, callback) {
    stream.resume();
    stream.on("end", () => {
      const now = performance.timeOrigin + performance.now();
      taken = { messages: taken.messages + 1, firstAt: taken.firstAt || now, lastAt: now };
      callback();
    });
  },
});
smtp.on("error", (error) => console.error(error.message));
smtp.listen(0, "127.0.0.1", () => {
  const http = createServer((request, response) => {
    if (request.method === "DELETE") taken = { messages: 0, firstAt: 0, lastAt: 0 };
    response.end(JSON.stringify({ ...taken, smtpPort: smtp.server.address().port }));
  });
  http.listen(0, "127.0.0.1", () => console.log(`listening on ${http.address().port}`));
});
process.on("SIGTERM", () => process.exit(0));
