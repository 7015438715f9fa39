import { Plan, readJson } from "./plan.ts";

const CHANNELS = ["email", "sms", "push", "in_app", "chat"];

/** Reads workflows as the API of Novu answers them: a list, `{data: list}` or one; of version 1 or 2. */
export async function readNovu(files: string[]): Promise<Plan> {
  const plan = new Plan();
  const answers = (await Promise.all(files.map(readJson))).flat();
  const workflows = answers.flatMap((answer) => answer?.data?.workflows ?? answer?.data ?? answer);
  plan.each("workflow", workflows, ({ name, workflowId, triggers, steps }) => {
    plan.each(`step of ${name}`, steps, ({ template = {}, type: channel = template.type, ...step }) => {
      if (!CHANNELS.includes(channel)) return; // such as delay
      const { subject = "", content, body = content } = step.controls?.values ?? step.controlValues ??
        template;
      const id = workflowId ?? triggers?.[0]?.identifier;
      const slug = channel === "email" ? id : `${id}-${channel.replace("_", "-")}`;
      const isText = typeof body === "string" && !body.startsWith('{"type":"doc"');
      const isTwice = plan.templates.some((each) => each.slug === slug);
      if (!isText) plan.refused.push(`${slug}: it has blocks of the editor; expected HTML or text`);
      else if (/\{%|\{\{[^}]*\|/.test(subject + body)) {
        plan.refused.push(`${slug}: it has tags or filters of Liquid`);
      } else if (isTwice) plan.refused.push(`${slug}: a second step of its channel`);
      else {
        const bodyName = channel === "email" ? "htmlBodyTemplate" : "textBodyTemplate";
        plan.templates.push({
          slug,
          name,
          subjectTemplate: withoutPayload(subject),
          [bodyName]: withoutPayload(body),
        });
      }
    });
  });
  return plan;
}

/** Version 2 names the caller's data `payload`. */
const withoutPayload = (text: string): string => text.replaceAll(/\{\{\s*payload\./g, "{{");
