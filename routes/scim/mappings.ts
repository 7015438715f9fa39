import { z } from "zod";
import {
  GroupMapping,
  GroupMappingChange,
  listGroupMappings,
  mapGroup,
} from "../../domain/access/scim/group_mappings.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "./protocol.ts";

/** The table of which group of the directory is which role. */
export const mappingRoutes = [
  endpoint("GET /api/v1/scim-groups", {
    id: "listScimGroupMappings",
    summary: "List which groups of the directory are which roles",
    access: inTenant("read:roles"),
    answers: { 200: { description: "All roles of the tenant, by name", schema: z.array(GroupMapping) } },
    problems: [],
    run: async ({ db, caller }) => ok(await listGroupMappings(db, caller)),
  }),
  endpoint("PUT /api/v1/roles/{id}/scim-group", {
    id: "mapScimGroup",
    summary: "Map a group of the directory to a role, or hide the role from it",
    access: inTenant("update:roles"),
    params: z.object({ id: uuid }),
    body: GroupMappingChange,
    answers: { 200: { description: "The mapping", schema: GroupMapping } },
    problems: ["ROLE_NOT_FOUND", "ROLE_ALREADY_EXISTS"],
    run: async ({ platform, caller, params, body }) => ok(await mapGroup(platform, caller, params.id, body)),
  }),
] as const;
