import { z } from "zod";
import { PATH, scimProblem, USERS } from "../../domain/access/scim/schema.ts";
import { wantedOf, type WantedUser } from "../../domain/access/scim/user_resource.ts";
import { CREATED_AT_ONCE, createFirstUsers, type Tagged } from "../../domain/access/scim/users.ts";
import { isObject } from "../../domain/shared/shapes.ts";
import { readResource, requireSchema } from "../../domain/access/scim/values.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { constraintProblem } from "../../domain/problems/constraints.ts";
import { problem } from "../../domain/problems/problem.ts";
import type { TenantCaller } from "../../domain/rights/caller.ts";
import { type Call, parse } from "../shared/call.ts";
import { problemAnswer, SCIM_TYPE } from "../shared/problem_document.ts";
import { access, endpoint, messages, readBody, scim } from "./protocol.ts";
import { changeBy, type Kind, KINDS } from "./resources.ts";

export const MAX_OPERATIONS = 1_000;

const BULK = "urn:ietf:params:scim:api:messages:2.0:Bulk";
const REFERENCE = /^bulkId:(.+)$/;

const Operation = z.object({
  method: z.string().toUpperCase().pipe(z.enum(["POST", "PUT", "PATCH", "DELETE"])),
  path: z.string().max(200),
  bulkId: z.string().min(1).max(200).optional(),
  version: z.string().max(200).optional(),
  data: z.unknown().optional(),
});
type Operation = z.output<typeof Operation>;
const Request = z.object({ failOnErrors: z.int().min(1).optional(), Operations: z.array(Operation).min(1) });

const Outcome = z.object({
  method: z.string(),
  bulkId: z.string().optional(),
  version: z.string().optional(),
  location: z.string().optional(),
  status: z.string(),
  response: z.looseObject({}).optional().describe("The refusal"),
});
type Outcome = z.output<typeof Outcome>;
const ScimBulkAnswer = z.object({ schemas: z.array(z.string()), Operations: z.array(Outcome) }).meta({
  id: "ScimBulkAnswer",
});

/** An operation and the bulkIds to which it refers. */
interface Waiting {
  operation: Operation;
  needs: string[];
}

/** The operations of a request. Each is a transaction of its own, and refers to others by `bulkId:`. */
class Bulk {
  readonly #ids = new Map<string, string>();
  readonly #outcomes = new Map<Operation, Outcome>();
  /** The bulkIds of operations that failed. */
  readonly #failed = new Set<string>();
  #errors = 0;

  constructor(
    private readonly platform: ServicePlatform,
    private readonly caller: TenantCaller,
    private readonly call: Call,
    private readonly request: z.output<typeof Request>,
  ) {}

  /** Runs operations after those to which they refer. What refers to itself through others cannot run. */
  async run(): Promise<Outcome[]> {
    const { Operations: operations } = this.request;
    const named = new Set(operations.flatMap(({ bulkId }) => bulkId ?? []));
    let waiting = operations.map((operation): Waiting => ({
      operation,
      needs: referencesIn([operation.path, operation.data]),
    }));
    while (waiting.length > 0) {
      const left: Waiting[] = [];
      for (let at = 0; at < waiting.length;) {
        if (this.#isOver()) return this.#inOrder();
        at += await this.#createFirst(waiting.slice(at, at + CREATED_AT_ONCE));
        const next = waiting[at++];
        if (!next || this.#outcomes.has(next.operation)) continue;
        const isReady = next.needs.every((id) => this.#ids.has(id) || !named.has(id) || this.#failed.has(id));
        if (isReady) await this.#perform(next);
        else left.push(next);
      }
      if (left.length === waiting.length) {
        for (const { operation } of left) this.#fail(operation, inCircle(operation));
        break;
      }
      waiting = left;
    }
    return this.#inOrder();
  }

  /** Creates users of which several follow each other, many times faster than one by one. @returns how many were done */
  async #createFirst(next: Waiting[]): Promise<number> {
    const wanted: WantedUser[] = [];
    for (const { operation: { method, path, data }, needs } of next) {
      const user = method === "POST" && path === "/Users" && needs.length === 0 ? plainUser(data) : null;
      if (!user) break;
      wanted.push(user);
    }
    if (wanted.length < 2) return 0;
    const created = await createFirstUsers(this.platform, this.caller, wanted).catch((failure) => {
      if (constraintProblem(failure)) return []; // taken meanwhile: the operation finds out by which one
      throw failure;
    });
    for (const [nth, id] of created.entries()) {
      const each = next[nth];
      if (id === null && each) await this.#perform(each);
      else if (id !== null && each) this.#made(each.operation, id, '"1"', `${this.#base}/Users/${id}`);
    }
    return created.length;
  }

  #isOver(): boolean {
    return this.#errors >= (this.request.failOnErrors ?? Infinity) || this.call.signal.aborted;
  }

  #inOrder(): Outcome[] {
    return this.request.Operations.flatMap((operation) => this.#outcomes.get(operation) ?? []);
  }

  async #perform({ operation, needs }: Waiting): Promise<void> {
    const { method, path } = operation;
    try {
      const missing = needs.find((id) => !this.#ids.has(id));
      if (missing !== undefined) {
        throw scimProblem("invalidValue", `No operation made a resource for bulkId:${missing}.`);
      }
      const [, collection = "", id] = /^\/(Users|Groups)(?:\/([^/]+))?$/.exec(this.#filled(path) as string) ??
        [];
      const kind = KINDS[collection as keyof typeof KINDS];
      if (!kind || (id === undefined) !== (method === "POST")) {
        throw scimProblem(
          "invalidValue",
          `path: expected /Users or /Groups, with an id unless for POST; found ${path}.`,
        );
      }
      const made = await this.#apply(kind, operation, id ?? "");
      const madeId = made ? made.resource.id as string : id ?? "";
      this.#made(operation, madeId, made?.tag ?? null, `${this.#base}/${collection}/${madeId}`);
    } catch (failure) {
      this.#fail(operation, failure);
    }
  }

  #made(operation: Operation, id: string, tag: string | null, location: string): void {
    const { method, bulkId } = operation;
    if (bulkId !== undefined) this.#ids.set(bulkId, id);
    this.#outcomes.set(operation, {
      method,
      ...bulkId === undefined ? {} : { bulkId },
      location,
      ...tag === null ? {} : { version: `W/${tag}` },
      status: method === "POST" ? "201" : tag === null ? "204" : "200",
    });
  }

  async #apply(
    { type, create, change, remove }: Kind,
    operation: Operation,
    id: string,
  ): Promise<Tagged | null> {
    const { platform, caller } = this;
    const { method, version: ifMatch = null } = operation;
    const data = this.#filled(operation.data);
    if (method === "POST") return await create(platform, caller, readResource(type, data));
    if (method !== "DELETE") {
      const at = { id, ifMatch, withMembers: false };
      return await change(platform, caller, at, changeBy(type, method, data));
    }
    await remove(platform, caller, id, ifMatch);
    return null;
  }

  get #base(): string {
    return `${this.platform.baseUrl()}${PATH}`;
  }

  /** The value with the ids of the resources that other operations made. */
  #filled(value: unknown): unknown {
    if (typeof value === "string") {
      return value.replace(
        /^(\/(?:Users|Groups)\/)?bulkId:(.+)$/,
        (_, before = "", id) => `${before}${this.#ids.get(id)}`,
      );
    }
    if (Array.isArray(value)) return value.map((each) => this.#filled(each));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#filled(each)]));
  }

  #fail(operation: Operation, failure: unknown): void {
    const { platform: { baseUrl, log }, call: { traceId } } = this;
    const path = `${PATH}/Bulk`;
    const context = { baseUrl: baseUrl(), instance: path, loggedPath: path, traceId, errorList: false };
    const { status, body } = problemAnswer(failure, context, log);
    const { method, bulkId, path: at } = operation;
    this.#errors++;
    if (bulkId !== undefined) this.#failed.add(bulkId);
    this.#outcomes.set(operation, {
      method,
      ...bulkId === undefined ? {} : { bulkId },
      ...method === "POST" ? {} : { location: `${this.#base}${at}` },
      status: String(status),
      response: JSON.parse(String(body)),
    });
  }
}

/** The user of an operation; null if it is invalid, which is answered when the operation runs. */
function plainUser(data: unknown): WantedUser | null {
  try {
    return wantedOf(readResource(USERS, data), null);
  } catch {
    return null;
  }
}

const inCircle = ({ bulkId }: Operation) =>
  problem("VALIDATION_ERROR", `The operation ${bulkId ?? ""} refers to itself through bulkIds.`, {
    status: 409,
  });

function referencesIn(value: unknown): string[] {
  if (typeof value === "string") {
    return REFERENCE.exec(value.replace(/^\/(?:Users|Groups)\//, ""))?.slice(1) ?? [];
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(referencesIn) : [];
}

/** Reads the operations. @throws invalidSyntax, invalidValue, BODY_TOO_LARGE */
async function readRequest(call: Call): Promise<z.output<typeof Request>> {
  const body = await readBody(call);
  requireSchema(body, `${BULK}Request`);
  const { Operations: operations } = body;
  if (Array.isArray(operations) && operations.length > MAX_OPERATIONS) {
    throw problem(
      "BODY_TOO_LARGE",
      `The request has ${operations.length} operations; expected at most ${MAX_OPERATIONS}.`,
    );
  }
  const request = parse(Request, body);
  const ids = request.Operations.flatMap(({ bulkId }) => bulkId ?? []);
  if (new Set(ids).size < ids.length) {
    throw scimProblem("invalidValue", "bulkId: two operations have the same one.");
  }
  return request;
}

/** Many operations in one request. */
export const bulkRoutes = [
  endpoint(`POST ${PATH}/Bulk`, {
    id: "runScimBulk",
    summary: "Create, change and delete many users and groups by SCIM",
    details:
      `At most ${MAX_OPERATIONS} operations. Each succeeds or fails as a whole, and refers to others by \`bulkId:\`.`,
    access,
    content: messages.bulk,
    answers: {
      200: { description: "The outcome of each operation", schema: ScimBulkAnswer, contentType: SCIM_TYPE },
    },
    problems: [],
    run: async ({ platform, caller, call }) => {
      const request = await readRequest(call);
      const Operations = await new Bulk(platform, caller, call, request).run();
      return scim(200, { schemas: [`${BULK}Response`], Operations });
    },
  }),
] as const;
