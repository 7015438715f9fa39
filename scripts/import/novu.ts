import { Plan } from "./plan.ts";

// deno-lint-ignore no-explicit-any -- a file of another system
type Json = any;

/** Reads workflows as the API of Novu answers them: a list, `{data: list}` or one; of version 1 or 2. */
export async function readNovu(files: string[]): Promise<Plan> {
  const plan = new Plan();
  const given: Json[] = await Promise.all(
    files.map(async (file) => JSON.parse(await Deno.readTextFile(file))),
  );
  for (
    const { name, workflowId, triggers, steps = [] } of given.flatMap((each) =>
      each.data?.workflows ?? each.data ?? each
    )
  ) {
    for (const step of steps) {
      const type = step.template?.type ?? step.type;
      if (!["email", "sms", "push", "in_app", "chat"].includes(type)) continue; // such as delay
      const { subject, content, body = content } = step.controls?.values ?? step.controlValues ??
        step.template ?? {};
      const id = workflowId ?? triggers?.[0]?.identifier;
      const slug = type === "email" ? id : `${id}-${type.replace("_", "-")}`;
      const isText = typeof body === "string" && !body.startsWith('{"type":"doc"');
      if (!isText) plan.refused.push(`${slug}: it has blocks of the editor; expected HTML or text`);
      else if (/\{%|\{\{[^}]*\|/.test(subject + body)) {
        plan.refused.push(`${slug}: it has tags or filters of Liquid`);
      } else if (plan.templates.some((each) => each.slug === slug)) {
        plan.refused.push(`${slug}: a second step of its channel`);
      } else {
        const subjects = subject ? { subjectTemplate: withoutPayload(subject) } : {};
        plan.templates.push({
          slug,
          name,
          ...subjects,
          [`${type === "email" ? "html" : "text"}BodyTemplate`]: withoutPayload(body),
        });
      }
    }
  }
  return plan;
}

/** Version 2 names the caller's data `payload`. */
const withoutPayload = (text: string): string => text.replaceAll(/\{\{\s*payload\./g, "{{");
