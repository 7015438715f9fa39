import assert from "node:assert/strict";
import { z } from "zod";
import {
  argErrors,
  type ArgsSchema,
  fieldsOf,
  readArgs,
  typedOf,
} from "../../../routes/console/jobs/args_form.ts";

const said = { notJson: "not JSON", notNumber: "not a number" };
const schema = z.object({
  name: z.string().max(40),
  note: z.string().nullish(),
  count: z.int().min(1).max(9).default(2),
  loud: z.boolean().optional(),
  mode: z.enum(["fast", "slow"]).default("fast"),
  tags: z.array(z.string()).optional(),
});
const fields = fieldsOf(z.toJSONSchema(schema, { io: "input" }) as ArgsSchema);

function form(values: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(name, value);
  return data;
}

Deno.test("an object schema becomes one field per property, of the right kind", () => {
  assert.deepEqual(
    fields?.map(({ name, kind, required, defaultText }) => [name, kind, required, defaultText ?? null]),
    [
      ["name", "text", true, null],
      ["note", "text", false, null],
      ["count", "integer", false, "2"],
      ["loud", "yesNo", false, null],
      ["mode", "choice", false, "fast"],
      ["tags", "json", false, null],
    ],
  );
  for (const other of [z.unknown(), z.array(z.string()), z.string()]) {
    assert.equal(fieldsOf(z.toJSONSchema(other) as ArgsSchema), null);
  }
});

Deno.test("typed values become arguments; empty fields are left out", () => {
  const typed = {
    "arg.name": " Ana ",
    "arg.count": "3",
    "arg.loud": "false",
    "arg.tags": '["a"]',
    "arg.mode": "",
  };
  const { serializedArgs, errors } = readArgs(fields, form(typed), said);
  assert.deepEqual(errors, {});
  assert.deepEqual(JSON.parse(serializedArgs), { name: " Ana ", count: 3, loud: false, tags: ["a"] });
  const again = typedOf(fields, serializedArgs);
  assert.equal(again["arg.count"], "3");
  assert.equal(again["arg.loud"], "false");
  assert.deepEqual(JSON.parse(again["arg.tags"] ?? ""), ["a"]);
});

Deno.test("errors appear at their fields, both local ones and those of the API", () => {
  const { errors } = readArgs(fields, form({ "arg.count": "three", "arg.tags": "[" }), said);
  assert.deepEqual(errors, { "arg.count": ["not a number"], "arg.tags": ["not JSON"] });
  assert.deepEqual(readArgs(null, form({ args: "{" }), said).errors, { args: ["not JSON"] });
  assert.equal(readArgs(null, form({}), said).serializedArgs, "{}");
  assert.deepEqual(
    argErrors(fields, ["name: too long: 41", "tags.0: expected a string", "Unrecognized key"]),
    {
      "arg.name": ["too long: 41"],
      "arg.tags": ["expected a string"],
      args: ["Unrecognized key"],
    },
  );
});
