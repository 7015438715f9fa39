// Sends messages with nodemailer's own pool. Arguments: SMTP port, number of messages, the message as JSON.
import process from "node:process";
import { createTransport } from "nodemailer";

const [port, count, message] = process.argv.slice(2);
const pool = createTransport({ pool: true, host: "127.0.0.1", port: Number(port), secure: false });
const mail = JSON.parse(message ?? "{}");
let next = 0;
await Promise.all(Array.from({ length: 100 }, async () => {
  while (next < Number(count)) await pool.sendMail({ ...mail, messageId: `<${next++}@bench.test>` });
}));
pool.close();
console.log("{}"); // the caller measures at the server
