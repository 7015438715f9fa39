// Values of records, made from their declarations.
import type { RecordMember } from "../../domain/records/members.ts";
import type { DefinedRecord } from "../../domain/records/record_type.ts";
import { recordNamed } from "../../domain/records/define_record.ts";

interface SampleOptions {
  /** In the texts that may contain any characters; shortened to the longest that the member accepts. */
  text?: string;
  /** The id of a row that a reference may name, by the singular of its record. */
  id?(one: string): string;
}

/** The n-th sample. Texts and numbers of different samples are different; booleans and choices take turns. */
function sampleOf(member: RecordMember, n: number, { text, id }: SampleOptions): unknown {
  const { name, kind, shape, choices, refersTo } = member;
  if (refersTo !== null) return id?.(recordNamed(refersTo, `the member ${name}`).one);
  switch (kind) {
    case "boolean":
      return n % 2 === 0;
    case "choice":
      return choices[n % choices.length];
    case "number":
      return n + 1;
    case "date":
      return new Date(Date.UTC(2026, 0, n + 1)).toISOString().slice(0, 10);
  }
  const candidates = [
    ...text === undefined ? [] : [text, text.slice(0, 100)],
    `${name} ${n}`,
    `${name}-${n}`,
    `${name}-${n}@example.test`,
    `https://${name}-${n}.example.test/`,
    new Date(Date.UTC(2026, 0, n + 1)).toISOString(),
    [`${name} ${n}`],
    { [name]: n },
  ];
  const fitting = candidates.find((value) => shape.safeParse(value).success);
  if (fitting === undefined) throw new Error(`no sample fits the member ${name}; add one that does`);
  return fitting;
}

/** A body that creates the n-th row. */
export const creationOf = (
  record: DefinedRecord,
  n: number,
  o: SampleOptions = {},
): Record<string, unknown> =>
  Object.fromEntries(
    record.members.filter(({ set }) => set !== "never").map((member) => [
      member.name,
      // one unlimited text is enough; the others stay unique
      sampleOf(
        member,
        n,
        member.name === record.title || member.kind === "long text" ? o : { ...o, text: undefined },
      ),
    ]),
  );

/** A body that changes a row into the n-th. */
export function changeOf(record: DefinedRecord, n: number, o: SampleOptions = {}): Record<string, unknown> {
  const changeable = new Set(record.members.filter(({ set }) => set === undefined).map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(creationOf(record, n, o)).filter(([name]) => changeable.has(name)),
  );
}
