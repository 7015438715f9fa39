// An SMTP server that accepts and discards every message: `node smtp_sink.mjs`. It prints its HTTP port. GET there returns
// the SMTP port, the number of messages, and the times (ms since the epoch) of the first and the last; DELETE resets them.
import { createServer } from "node:http";
import process from "node:process";
import { SMTPServer } from "smtp-server";

let counts = { messages: 0, firstAt: 0, lastAt: 0 };
const smtp = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  logger: false,
  onData(stream, _session, callback) {
    stream.resume();
    stream.on("end", () => {
      const now = performance.timeOrigin + performance.now();
      counts = { messages: counts.messages + 1, firstAt: counts.firstAt || now, lastAt: now };
      callback();
    });
  },
});
smtp.on("error", (error) => console.error(error.message));
smtp.listen(0, "127.0.0.1", () => {
  const http = createServer((request, response) => {
    if (request.method === "DELETE") counts = { messages: 0, firstAt: 0, lastAt: 0 };
    response.end(JSON.stringify({ ...counts, smtpPort: smtp.server.address().port }));
  });
  http.listen(0, "127.0.0.1", () => console.log(`listening on ${http.address().port}`));
});
process.on("SIGTERM", () => process.exit(0));
