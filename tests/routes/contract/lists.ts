// Pages, orders and filters of every list, derived from its parameters and its items.
import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import { type Parameter, parametersOf } from "../../../routes/shared/openapi_sharing.ts";
import { MARKER } from "../../support/isolation.ts";
import { codeOf, forAll } from "./calls.ts";
import type { Contract } from "./contract.ts";

type Item = Record<string, unknown>;
export type Query = Record<string, string>;

/** A list endpoint with its parameters. */
export interface List {
  spec: Endpoint;
  parameters: Map<string, Parameter>;
  /** The name of the parameter for the number of the page. */
  page: string;
  maxSize: number;
}

/** A page in one form; lists that are bare arrays have only `items`. */
interface Page {
  items: Item[];
  totalCount?: number;
  pageNumber?: number;
  pageSize?: number;
  totalPages?: number;
  hasNext?: boolean;
  hasPrevious?: boolean;
}

export function parametersByName(c: Contract, { path, method }: Endpoint): Map<string, Parameter> {
  const operation = c.document.paths[path]?.[method];
  const parameters = operation ? parametersOf(c.document, operation) : [];
  return new Map(parameters.map((parameter) => [parameter.name, parameter]));
}

export function listsOf(c: Contract): List[] {
  return c.endpoints.flatMap((spec) => {
    const parameters = parametersByName(c, spec);
    const page = ["page", "pageNumber"].find((name) => parameters.has(name));
    const size = parameters.get("pageSize")?.schema.maximum;
    return page && size ? [{ spec, parameters, page, maxSize: size }] : [];
  });
}

/** Asks for a page. Throws for another answer than 200. */
async function ask(c: Contract, { spec }: List, query: Query): Promise<Page> {
  const base = c.ask(spec);
  const by = BY_SYSTEM.has(spec.id) ? c.t.systemAdmin : c.by(spec);
  const answer = await c.send(by, spec, { ...base, query: { ...LIMITED[spec.id]?.(c), ...query } });
  const { status, body } = answer;
  if (status !== 200) {
    throw new Error(`${JSON.stringify(query)}: ${codeOf(answer)} ${JSON.stringify(body?.errors)}`);
  }
  if (Array.isArray(body)) return { items: body };
  if (!body.meta) return body;
  const { page, ...told } = body.meta;
  return { ...told, pageNumber: page, items: body.data };
}

/** Parameters without which a list is refused, or contains too much for one page. */
export const LIMITED: Record<string, (c: Contract) => Query> = {
  listAllUsers: ({ world }) => ({ tenantId: world.ids.tenant }),
  listTenants: () => ({ search: MARKER }),
  lookUpTenants: () => ({ search: MARKER }),
  lookUpAllTenants: () => ({ search: MARKER }),
  listUserNotifications: ({ world }) => ({ userId: world.victim.userId }),
};

/** Only system administrators see several tenants. */
export const BY_SYSTEM = new Set(["listTenants", "lookUpTenants"]);

const size = (n: number): Query => ({ pageSize: String(n) });

/** The whole lists: the checks only read, so they share these. */
const whole = new Map<string, Promise<Page>>();

/** Calls `check` for all lists; what it throws is a mistake too. */
const ofLists = (c: Contract, check: (list: List, full: Page) => Promise<string[]>): Promise<string[]> =>
  forAll(listsOf(c), async (list) => {
    try {
      const full = await whole.getOrInsertComputed(list.spec.id, () => ask(c, list, size(list.maxSize)));
      return (await check(list, full)).map((mistake) => `${list.spec.id}: ${mistake}`);
    } catch (error) {
      return [`${list.spec.id}: ${(error as Error).message}`];
    }
  });

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Pages contain every item once, in the order of the whole list, and say which of how many they are. */
export const pageMistakes = (c: Contract): Promise<string[]> =>
  ofLists(c, async (list, full) => {
    const count = full.items.length;
    if (count < 3) return [`only ${count} items; make more in many.ts`];
    const found: string[] = [];
    const isArray = full.totalCount === undefined;
    const total = full.totalCount ?? count;
    if (total < count || total > count && count < list.maxSize) {
      found.push(`totalCount ${total} of ${count} items`);
    }
    const each = Math.ceil(count / (count <= 6 ? 3 : 4));
    const pages: Page[] = [];
    for (let number = 1; number <= Math.ceil(count / each); number++) {
      pages.push(await ask(c, list, { [list.page]: String(number), ...size(each) }));
    }
    const last = Math.ceil(total / each);
    const walked = pages.flatMap(({ items }) => items);
    if (!same(walked, full.items.slice(0, walked.length)) || walked.length < count) {
      found.push(`its pages of ${each} contain ${walked.map(nameOf)}, expected ${full.items.map(nameOf)}`);
    }
    pages.push(await ask(c, list, { [list.page]: String(last + 1), ...size(each) }));
    pages.forEach((page, index) => {
      const number = index === pages.length - 1 ? last + 1 : index + 1;
      const { items, ...told } = page;
      const expected = {
        totalCount: total,
        pageNumber: number,
        pageSize: each,
        totalPages: last,
        hasNext: number < last,
        hasPrevious: number > 1,
      };
      if (number > last && items.length > 0) found.push(`page ${number} of ${last} has items`);
      if (
        !isArray &&
        Object.entries(expected).some(([name, value]) => told[name as keyof typeof told] !== value)
      ) {
        found.push(`page ${number}: ${JSON.stringify(told)}, expected ${JSON.stringify(expected)}`);
      }
    });
    const usual = isArray ? list.maxSize : 20;
    const first = await ask(c, list, {});
    if (!isArray && (first.pageSize !== usual || first.pageNumber !== 1)) {
      found.push(
        `page ${first.pageNumber} of ${first.pageSize} items by default, expected page 1 of ${usual}`,
      );
    }
    if (first.items.length !== Math.min(total, usual)) found.push(`${first.items.length} items by default`);
    return found;
  });

const nameOf = (item: Item) => item.id ?? item.name ?? JSON.stringify(item).slice(0, 40);

/** Parameters that are no filter on a member. */
const NO_FILTERS =
  /^(page|pageNumber|pageSize|sortBy|orderBy|sortDirection|ascending|search|searchTerm|include\w+|ids)$/;
const MAX_VALUES = 3;

/** A filter with the name of a member answers exactly the items with that value. */
export const filterMistakes = (c: Contract): Promise<string[]> =>
  ofLists(c, async (list, full) => {
    const found: string[] = [];
    for (const [name, { schema, in: place }] of list.parameters) {
      if (place !== "query" || NO_FILTERS.test(name) || !full.items.some((item) => name in item)) continue;
      const values = [...new Set(full.items.map((item) => item[name]).filter((value) => value !== null))];
      const few = values.length < 2 && !full.items.some((item) => item[name] === null);
      if (few && (schema.enum || typeof values[0] === "boolean")) {
        found.push(`all items have ${name} ${values}; vary them in many.ts`);
      }
      for (const value of values.slice(0, MAX_VALUES)) {
        const wanted = full.items.filter((item) => item[name] === value);
        const page = await ask(c, list, { [name]: String(value), ...size(list.maxSize) });
        const isAll = full.totalCount === undefined || full.totalCount === full.items.length;
        const items = isAll ? page.items : page.items.slice(0, wanted.length); // of a longer list, the first ones
        if (!same(items, wanted)) {
          found.push(`${name}=${value}: ${items.map(nameOf)}, expected ${wanted.map(nameOf)}`);
        }
        if (isAll && page.totalCount !== undefined && page.totalCount !== wanted.length) {
          found.push(`${name}=${value}: totalCount ${page.totalCount}, expected ${wanted.length}`);
        }
      }
    }
    return found;
  });

const NAMES = ["name", "code", "key", "email", "fileName", "url", "address", "category", "jobTypeName"];

/** The text in upper case and full width, with spaces around it, and an invisible character. All searches compare it like the text. */
const respelled = (text: string): string =>
  ` \u200b${text.toUpperCase().replace(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0))} `;

/** A search finds the items with a text, however it is spelled, and no others. */
export const searchMistakes = (c: Contract): Promise<string[]> =>
  ofLists(c, async (list, full) => {
    const by = ["search", "searchTerm"].find((name) => list.parameters.has(name));
    const item = full.items.find((item) => JSON.stringify(item).includes(MARKER)) ?? full.items[0];
    const member = NAMES.find((name) => item && name in item);
    if (!by || !item || !member) return [];
    const found: string[] = [];
    const text = String(item[member]);
    const { items } = await ask(c, list, { [by]: respelled(text), ...size(list.maxSize) });
    if (!items.some((other) => same(other, item))) found.push(`${by}=${text} does not find ${nameOf(item)}`);
    const others = items.filter((other) => !JSON.stringify(other).toLowerCase().includes(text.toLowerCase()));
    if (others.length > 0) found.push(`${by}=${text} finds ${others.map(nameOf)}`);
    const none = await ask(c, list, { [by]: "no-such-text" });
    if (none.items.length > 0 || none.totalCount !== 0) {
      found.push(`${none.totalCount} items with a text that none contains`);
    }
    return found;
  });

/** The values of orders that follow from several members. */
const DERIVED: Record<string, (item: Item) => unknown> = {
  duration: ({ startedAt, completedAt }) =>
    startedAt && completedAt ? Date.parse(String(completedAt)) - Date.parse(String(startedAt)) : null,
};

/** Every order sorts by its member, both ways, and ties by id: one direction is the other one reversed. */
export const orderMistakes = (c: Contract): Promise<string[]> =>
  ofLists(c, async (list, full) => {
    const by = ["sortBy", "orderBy"].find((name) => list.parameters.has(name));
    if (!by) return [];
    const found: string[] = [];
    const names: unknown[] = list.parameters.get(by)?.schema.enum ?? [];
    const unknown = await ask(c, list, { [by]: "none" }).then(() => "accepted", ({ message }: Error) =>
      message);
    if (
      !names.every((name) =>
        unknown.includes(String(name))
      )
    ) found.push(`${by}=none: ${unknown}`);
    const ways = by === "sortBy"
      ? [{ sortDirection: "Ascending" }, { sortDirection: "Descending" }]
      : [{ ascending: "true" }, { ascending: "false" }];
    for (const order of names) {
      const member = String(order).replace(/^./, (letter) => letter.toLowerCase());
      const [up, down] = await Promise.all(
        ways.map((way) => ask(c, list, { [by]: String(order), ...way, ...size(list.maxSize) } as Query)),
      );
      if (!up || !down) continue;
      const ranks = list.parameters.get(member)?.schema.enum;
      const key = (item: Item) => sortKey((DERIVED[member] ?? ((item) => item[member]))(item), ranks);
      const keys = up.items.map(key);
      const distinct = new Set(keys.filter((value) => value !== null)).size;
      if (distinct < Math.min(3, ranks?.length ?? 3) && member !== "type") {
        found.push(`only ${distinct} values of ${member}; vary them in many.ts`);
      }
      if (up.items.length !== full.items.length) found.push(`${order}: ${up.items.length} items`);
      const [rising, falling] = [up, down].map(({ items }) => items.filter((item) => key(item) !== null));
      const isSorted = same(
        rising,
        rising?.toSorted((a, b) => key(a)! < key(b)! ? -1 : key(a)! > key(b)! ? 1 : 0),
      );
      if (!isSorted || !same(rising, falling?.toReversed())) {
        found.push(`${order}: ${up.items.map(key)}; descending: ${down.items.map(key)}`);
      }
      for (const { items } of [up, down]) {
        const at = items.map(key).indexOf(null);
        const nulls = items.filter((item) => key(item) === null);
        if (at >= 0 && !same(items.slice(at, at + nulls.length), nulls)) {
          found.push(`${order}: null is between values`);
        }
      }
      const ties = up.items.map((item, at) => [item, up.items[at + 1]]).filter(([a, b]) =>
        a && b && key(a) === key(b)
      );
      if (!ties.every(([a, b]) => String(a?.id ?? a?.category) < String(b?.id ?? b?.category))) {
        found.push(`${order}: ties are not sorted by id`);
      }
    }
    return found;
  });

function sortKey(value: unknown, names: unknown[] | undefined): string | number | null {
  if (names) return names.indexOf(value) * (names[0] === "Critical" ? -1 : 1); // priorities ascend from Low to Critical
  if (typeof value === "string") return value.toLowerCase();
  return typeof value === "number" ? value : null;
}
