import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import type { Ask, World } from "../../support/isolation.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { ROWS } from "../isolation/all_rows.ts";
import { buildWorld, everyTenantPermission, type Kind } from "../isolation/world.ts";
import { CASES } from "./asks.ts";
import { Calls } from "./calls.ts";

const byTenants = new Set(everyTenantPermission);

/** A service with the objects of a world, and valid requests for its endpoints. */
export class Contract extends Calls {
  /** The endpoints that need a caller. */
  readonly withCaller: readonly Endpoint[];

  /** Its actors skip the server. */
  readonly t: TestService;
  world!: World<Kind>;

  private constructor(t: TestService) {
    super(t);
    this.withCaller = this.endpoints.filter(({ access }) => access.needsCaller);
    this.t = {
      ...t,
      systemAdmin: this.attach(t.systemAdmin),
      actor: async (o) => this.attach(await t.actor(o)),
    };
  }

  static async build(t: TestService): Promise<Contract> {
    const contract = new Contract(t);
    contract.world = await buildWorld(contract.t);
    return contract;
  }

  endpoint(id: string): Endpoint {
    const spec = this.endpoints.find((spec) => spec.id === id);
    if (!spec) throw new Error(`there is no endpoint ${id}`);
    return spec;
  }

  /** A caller who may call the endpoint for the objects of the world; null: no caller is needed. */
  by({ id, access }: Endpoint): Actor | null {
    if (!access.needsCaller) return null;
    const { permissions } = access;
    const isOfPlatform = permissions.length > 0 && !permissions.some((each) => byTenants.has(each));
    return isOfPlatform || CASES[id]?.by === "system" ? this.t.systemAdmin : this.world.victim;
  }

  /** A valid request by this caller. */
  ask({ id, path }: Endpoint, ids: Record<Kind, string> = this.world.ids): Ask {
    const own = CASES[id]?.ask?.(ids, this);
    if (own) return own;
    const row = ROWS[id];
    if (!row || "open" in row) return {};
    const { victim } = this.world;
    const isOwn = path.startsWith("/api/v1/user-notifications");
    const idOf = (kind: Kind) => isOwn && kind === "user" ? victim.userId : ids[kind];
    const world = { ...this.world, ids, outsider: victim };
    if ("own" in row) return row.own(world);
    return "refused" in row ? row.ask(idOf) : row.names(idOf, world);
  }
}
