// The channel Slack: messages to incoming webhooks of Slack, or of a compatible chat such as Mattermost.
import { defineChannel, defineExtension } from "@steward/steward";
import { isWebUrl, problemOf } from "../http_answer.ts";

/** Longer texts are cut; Slack cuts them at 40,000 characters. */
const TEXT_LENGTH = 40_000;

/** Text in Slack's markup, in which only these three characters have a meaning that must be escaped. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const slack = defineChannel({
  name: "Slack",
  displayName: "Slack",
  address: {
    expected: "the URL of an incoming webhook such as https://hooks.slack.com/services/T000/B000/XXXX",
    fits: isWebUrl,
  },
  providers: [{
    name: "slack",
    async send({ recipient, subject, text }, { signal, steward }) {
      const title = subject ? `*${escaped(subject.replaceAll("*", ""))}*` : "";
      const lines = [title, escaped(text ?? "")].filter((part) => part.trim() !== "");
      if (lines.length === 0) return { problem: { reason: "the message has no text", isPermanent: true } };
      const answer = await steward.fetchOutbound({
        url: recipient.address,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text: lines.join("\n").slice(0, TEXT_LENGTH) }),
        signal,
      });
      const code = /^[a-z_]{1,60}$/.exec(new TextDecoder().decode(answer.body).trim())?.[0]; // such as no_service
      const problem = problemOf("Slack", answer, code);
      return problem ? { problem } : { providerMessageId: null };
    },
  }],
});

export default defineExtension({ name: "slack", channels: [slack] });
